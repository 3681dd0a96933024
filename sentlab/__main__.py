from sentlab.cli import main

raise SystemExit(main())
