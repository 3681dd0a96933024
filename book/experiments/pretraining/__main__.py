"""`python -m experiments.pretraining`: see `experiments.pretraining.pretrain`."""

from experiments.pretraining.pretrain import main

if __name__ == "__main__":
    main()
