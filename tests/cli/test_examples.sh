#!/usr/bin/env bash
# Every example of every verb's help runs, in the order of the verbs, from the source folder.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
ln -s "$PWD/examples" "$folder/examples"
[[ ! -e build/demo ]] || mkdir "$folder/build"
[[ ! -e build/demo ]] || ln -s "$PWD/build/demo" "$folder/build/demo"
mkdir "$folder/bin"
ln -s "$(realpath "$TILEWORK")" "$folder/bin/tilework"
PATH=$folder/bin:$PATH
cd "$folder"

count=0
for verb in $(tilework help | sed -n 's/^  \([a-z]*\)  .*/\1/p'); do
    examples=$(tilework "$verb" --help | sed -n '/^Examples:$/,$s/^  tilework/tilework/p')
    [[ -n $examples ]] || { echo "$verb has no example" >&2; exit 1; }
    while IFS= read -r line; do
        # What the demo fetches may not be there.
        [[ $line != *build/demo/ocr.safetensors* || -e build/demo/ocr.safetensors ]] || continue
        bash -c "$line" >output 2>&1 || { echo "fails: $line" >&2; cat output >&2; exit 1; }
        count=$((count + 1))
    done <<<"$examples"
done
echo "$count examples run"
((count >= 12))
