# Sourced by the recipes: a built tree enters the shared image directory whole or not at all.
# The layout is the one control/core/images reads: trees/<digest>/{rootfs,image.json} and names/<name>.json.
images=${IMAGES_DIR:-.runtime/images}

# recipe_digest FILE...: what a tree was made from.
recipe_digest() { cat "$@" | sha256sum | cut -c1-32; }

# is_built NAME RECIPE: the name points at a tree made by this recipe.
is_built() {
  local digest
  [ "$(cat "$images/recipes/$1" 2>/dev/null)" = "$2" ] || return 1
  digest=$(sed -n 's/.*"digest": *"\([^"]*\)".*/\1/p' "$images/names/$1.json" 2>/dev/null)
  [ -n "$digest" ] && [ -e "$images/trees/$digest/image.json" ]
}

# place NAME RECIPE DIGEST DIR: DIR holds rootfs/ and image.json and is on the same file system.
place() {
  mkdir -p "$images/trees" "$images/names" "$images/recipes"
  chmod 755 "$4" "$4/rootfs"
  sync -f "$4"
  if ! mv -T "$4" "$images/trees/$3" 2>/dev/null; then
    # Somebody else placed the same tree meanwhile.
    [ -e "$images/trees/$3/image.json" ] || { echo "hutch: cannot place $images/trees/$3" >&2; return 1; }
    rm -rf "$4"
  fi
  printf '{"digest": "%s"}\n' "$3" >"$images/names/.$1.$$"
  mv "$images/names/.$1.$$" "$images/names/$1.json"
  # Whoever looks at that moment is to see the old one or the new one.
  echo "$2" >"$images/recipes/.$1.$$"
  mv "$images/recipes/.$1.$$" "$images/recipes/$1"
}
