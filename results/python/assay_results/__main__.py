"""python3 -m assay_results parquet DATABASE FOLDER [VIEW]... | verify FILE"""

import sys

from . import Error, open, verify  # noqa: A004


def main() -> int:
    words = sys.argv[1:]
    try:
        if len(words) >= 3 and words[0] == "parquet":
            with open(words[1]) as database:
                for path in database.parquet(words[2], tuple(words[3:]) or None):
                    print(path)
            return 0
        if len(words) == 2 and words[0] == "verify":
            found = verify(words[1])
            print("\n".join(found) or "verified")
            return 1 if found else 0
    except Error as error:
        print(f"assay_results: {error}", file=sys.stderr)
        return 4
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
