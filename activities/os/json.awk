# Reads one JSON document and prints a line for each of its values: its path, a tab, and the value. Neither images nor
# hosts reliably contain a program that reads JSON. Exits with 3 if the document is incomplete or invalid. JSON strings
# contain no raw tab or line break; escapes are not decoded, because the values in use contain none.
function place(    i, path) {
  path = ""
  for (i = 1; i <= depth; i++) path = path (i > 1 ? "." : "") (kind[i] == "[" ? at[i] : name[i])
  return path
}
function broken() { isBroken = 1; exit 3 }
function value(text) {
  if (state != "value") broken()
  print place() "\t" text
  seen = 1
  state = "after"
}
function open(bracket) {
  if (state != "value" || depth >= 64) broken()
  kind[++depth] = bracket
  at[depth] = 0
  state = bracket == "{" ? "key" : "value"
  isEmpty = 1
}
function close_(bracket) {
  if (depth < 1 || kind[depth] != bracket || !(state == "after" || isEmpty)) broken()
  depth--
  seen = 1
  state = "after"
}
function string(text) {
  if (state != "key") { value(text); return }
  name[depth] = text
  state = "colon"
}
BEGIN { state = "value" }
{
  text = $0
  while (length(text) > 0) {
    if (match(text, /^[ \t\r]+/)) { text = substr(text, RLENGTH + 1); continue }
    first = substr(text, 1, 1)
    if (depth == 0 && seen && state == "after") broken()
    if (first == "\"") {
      if (!match(text, /^"([^"\\]|\\.)*"/)) broken()
      string(substr(text, 2, RLENGTH - 2))
      isEmpty = 0
    } else if (first == "{" || first == "[") {
      RLENGTH = 1
      open(first)
    } else if (first == "}") { RLENGTH = 1; close_("{"); isEmpty = 0 }
    else if (first == "]") { RLENGTH = 1; close_("["); isEmpty = 0 }
    else if (first == ":") {
      if (state != "colon") broken()
      RLENGTH = 1
      state = "value"
    } else if (first == ",") {
      if (state != "after") broken()
      RLENGTH = 1
      if (kind[depth] == "[") at[depth]++
      state = kind[depth] == "[" ? "value" : "key"
    } else {
      if (!match(text, /^[-+.0-9A-Za-z]+/)) broken()
      value(substr(text, 1, RLENGTH))
      isEmpty = 0
    }
    text = substr(text, RLENGTH + 1)
  }
}
END { if (isBroken || depth != 0 || !seen) exit 3 }
