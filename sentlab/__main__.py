import sys

try:
    from sentlab.cli import main

    status = main()
except KeyboardInterrupt:  # while `main` is imported
    print("sentlab: interrupted", file=sys.stderr)
    status = 130
raise SystemExit(status)
