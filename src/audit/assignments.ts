import { hidden, isSecretCompound, isSecretKey, nameNames } from './secret-names.js'

/** A name with what closes its quotation, its brackets or its emphasis, and what stands before the value. */
const assignment = new RegExp(
  '(?<![\\w.-])([\\w.-]+)(?:(?:\\\\*["\'`*]|%(?:25)*2[27]|\\[?\\]|%(?:25)*5[BD]){0,4}\\s*' +
    '(=>|->|:=|[?+!]?={1,3}|\\|\\||\\?\\?|:|%(?:25)*3[AD])\\s*|' +
    // The first argument of a call, and the second: `setenv("PASSWORD", "…")`
    '(?<=\\w\\(["\'`][\\w.-]{1,100})["\'`]\\s*,\\s*(?=["\'`])|\\s+)', 'gi',
)
/** After `name: `, a name and then `value:`, or the empty line before a part of a form (RFC 7578). */
const pair = new RegExp(
  '["\'`]?([\\w.-]{1,100})["\'`]?(?:[\\s,;]{1,64}' +
    '["\'`]?(?:value|val|content|data|default)["\'`]?\\s{0,64}(?:=>|:=|[:=])\\s{0,64}|' +
    '(?:;[^\\r\\n]{0,200})?\\r?\\n(?:[\\w-]+:[^\\r\\n]*\\r?\\n){0,4}\\r?\\n|(?<=["\'`])(?=\\w))', 'iy',
)
// Three quotation marks are Python's. The third alternative is a quotation in a quotation: it ends as it
// began, or with the outer one. Python writes b'…', C# @"…", SQL N'…'.
const quoted = new RegExp(
  '[bru@$n]{0,2}(?:((\\\\*)(["\'])\\2\\3\\2\\3)[\\s\\S]*?(?:\\1|$)|"(?:[^"\\\\]|\\\\[\\s\\S])*(?:"|$)|' +
    '(\\\\+)"[\\s\\S]*?(?:(?<!\\\\)\\4?"|$)|\'[^\']*(?:\'|$)|`[^`]*(?:`|$))', 'iy',
)
/** Of shells and Terraform. */
const hereDocument = /<<[-~]?["']?(\w{1,40})["']?[\s\S]*?(?:\n[ \t]*\1(?!\w)|$)/y
/** RFC 9110, section 11.4: a list of parameters follows the scheme. */
const scheme = /(?:digest|negotiate|ntlm|hawk|oauth|aws4-hmac-sha256|signature)\s[^\r\n]*/iy
const line = /[^\r\n]+/y
/** A backslash before the line end continues it; both may be escaped themselves. */
const word = /(?:\\(?:\r?\n|\\\\n)[ \t]*|[^\s"'&<>])+/y
// Prose such as "password expired" has no digits; a secret has letters and digits.
const mixed =
  /(?:(?:is|was)\s+)?(?=[^\s"'&<>,;\d]{0,200}\d)(?=[^\s"'&<>,;A-Za-z]{0,200}[A-Za-z])[^\s"'&<>,;]{6,}/y

/**
 * `password: …`, `token=…`, `--api-key …`, `Cookie: …`. The value is a quotation, a bracketed part, a word
 * or, after a colon, the rest of the line; after only a space, a quotation or a mix of letters and digits.
 */
export const scrubAssignments = (text: string): string => {
  const pieces: string[] = []
  let done = 0
  let before = { word: '', end: -1 }
  for (let found = assignment.exec(text); found; found = assignment.exec(text)) {
    const [, key = '', separator] = found
    let start = assignment.lastIndex
    const isAssigned = separator !== undefined || key.startsWith('-')
    // Tested first, because few words of prose have such a neighbour.
    const quotation = isAssigned ? undefined : endOf(quoted, text, start)
    const neighbour = isAssigned ? undefined : quotation ?? endOf(mixed, text, start)
    const previous = before.end === found.index ? before.word : ''
    before = { word: key, end: start }
    if (!isAssigned && neighbour === undefined) continue
    const isName = separator !== undefined && nameNames.has(key.toLowerCase())
    const paired = isName ? pairAt(text, start) : undefined
    start = paired ?? start
    const isPhrase = separator !== undefined || quotation !== undefined
    const isSecret = isSecretKey(key) || (isPhrase && isSecretPhrase(previous, key))
    if (paired === undefined && !isSecret) continue
    const end = neighbour ?? valueEnd(text, start, separator, key, found.index)
    if (end === undefined) continue
    pieces.push(text.slice(done, start), hidden)
    done = end
    assignment.lastIndex = end
  }
  return pieces.length === 0 ? text : pieces.join('') + text.slice(done)
}

/** `The API key: …`, `the password is: …`; but not `token count: …`. */
const isSecretPhrase = (previous: string, key: string): boolean => {
  if (previous === '') return false
  if (/^(?:is|was)$/i.test(key)) return isSecretKey(previous)
  return !isSecretKey(previous) && isSecretCompound(previous, key)
}

/** Where the value of the secret begins whose name stands at `start`; undefined when there is none. */
const pairAt = (text: string, start: number): number | undefined => {
  pair.lastIndex = start
  const [, name] = pair.exec(text) ?? []
  return name !== undefined && isSecretKey(name) ? pair.lastIndex : undefined
}

const valueEnd = (
  text: string, start: number, separator: string | undefined, key: string, keyAt: number,
): number | undefined =>
  endOf(quoted, text, start) ?? endOf(hereDocument, text, start) ??
  bracketEnd(text, start, separator === ':' ? '[{' : '[{(') ??
  (/auth/i.test(key) && separator !== ':' ? endOf(scheme, text, start) : undefined) ??
  (separator === ':' ? lineEnd(text, start, keyAt) : endOf(word, text, start))

/**
 * The end of a line, with the lines after it that are indented deeper than the line of the name: a scalar of
 * YAML, or a folded header.
 */
const lineEnd = (text: string, start: number, keyAt: number): number | undefined => {
  const end = endOf(line, text, start)
  if (end === undefined) return undefined
  const before = text.slice(text.lastIndexOf('\n', keyAt) + 1, keyAt)
  const indentation = Math.min(/^[ \t]*(?:- +)*/.exec(before)?.[0].length ?? 0, 200)
  return endOf(deeperLines(indentation), text, end) ?? end
}

const deeperLines = (indentation: number): RegExp =>
  new RegExp(`(?:(?:\\r?\\n[ \\t]*)*\\r?\\n[ \\t]{${indentation + 1}}[ \\t]*[^\\s][^\\r\\n]*)+`, 'y')

/** The position after the closing bracket, or the end of the text if it is never closed. */
const bracketEnd = (text: string, start: number, opening: string): number | undefined => {
  if (start >= text.length || !opening.includes(text.charAt(start))) return undefined
  let depth = 0
  for (let at = start; at < text.length; at += 1) {
    const character = text.charAt(at)
    if ('[{('.includes(character)) depth += 1
    else if (']})'.includes(character) && --depth === 0) return at + 1
  }
  return text.length
}

const endOf = (pattern: RegExp, text: string, start: number): number | undefined => {
  pattern.lastIndex = start
  return pattern.test(text) ? pattern.lastIndex : undefined
}
