"""`python -m sentlab.pretraining`: see `sentlab.pretraining.pretrain`."""

from sentlab.pretraining.pretrain import main

if __name__ == "__main__":
    main()
