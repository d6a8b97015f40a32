/** What stands in the place of a secret. */
export const hidden = '[redacted]'

const secretWords = new RegExp(
  'passw(?:or)?d|passphrase|passcode|pwd|secret|token|authori[sz]ation|credential|cookie|bearer|jwt|sessionid|' +
    'connectionstring|(?:api|access|private|signing|encryption|shared|account|master|service)key',
)
const secretNames: ReadonlySet<string> = new Set(['auth', 'pass', 'pin', 'otp', 'cvv', 'cvc', 'xauth'])

/** Whether what such a key holds is a secret: `API-Key`, `userPassword`, `x_auth_token`, in whatever disguise. */
export const isSecretKey = (key: string): boolean => {
  const name = normal(key).toLowerCase().replace(/[^\p{L}\p{N}]/gu, '')
  return secretNames.has(name) || secretWords.test(name)
}

// Each pattern begins where a run of its letters begins, so that no text makes it look at the same letters again and again.
const patterns: readonly (readonly [RegExp, string])[] = [
  [/-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY[^-]{0,20}-----[\s\S]*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY[^-]{0,20}-----|$)/g, hidden],
  [/(?<![\w-])(?:sk|rk)[-_][\w-]{8,}/g, hidden],
  [/(?<![\w-])(?:gh[pousr]_|github_pat_|glpat-|xox[a-z]-|npm_|hf_|shpat_|whsec_|dop_v1_|pypi-)[\w-]{8,}/g, hidden],
  [/(?<!\w)(?:AKIA|ASIA)[A-Z0-9]{12,}/g, hidden],
  [/(?<![\w-])(?:AIza[\w-]{20,}|ya29\.[\w-]{8,}|SG\.[\w-]{8,}[\w.-]*)/g, hidden],
  [/(?<![\w-])eyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]*)*/g, hidden],
  [/(?<!\w)(bearer\s{1,8})[\w.~+/=-]{6,}/gi, `$1${hidden}`],
  [/(?<!\w)(basic\s{1,8})(?:[\w+/-]{16,}={0,2}|[\w+/-]{4,}={1,2})/gi, `$1${hidden}`],
  // scheme://user:password@host
  [/(:\/\/)[^\s/?#@]{1,256}@/g, `$1${hidden}@`],
]

/** The text without the secrets that it shows by their form, or by the name before them. */
export const withoutSecrets = (text: string): string => {
  const plain = scrub(text)
  const revealed = normal(plain)
  // A secret that shows only without the disguise cannot be cut out of the disguised text.
  return revealed === plain || scrub(revealed) === revealed ? plain : hidden
}

const scrub = (text: string): string =>
  patterns.reduce((rest, [pattern, instead]) => rest.replace(pattern, instead), scrubAssignments(text))

const assignment = /(?<![\w.-])([\w.-]+)(?:\\*["'`]?\s{0,8}([:=])\s{0,8}|\s{1,8})/g
// The second form is a quotation within a quotation.
const quoted = /"(?:[^"\\]|\\[\s\S])*(?:"|$)|\\+"[^"]*(?:"|$)|'[^']*(?:'|$)|`[^`]*(?:`|$)/y
const line = /[^\r\n]+/y
const word = /[^\s"'&<>]+/y

/** `password: …`, `token=…`, `--api-key …`, `Cookie: …`: quoted, a word, or after a colon the rest of the line. */
const scrubAssignments = (text: string): string => {
  const pieces: string[] = []
  let done = 0
  for (let found = assignment.exec(text); found; found = assignment.exec(text)) {
    const [, key = '', separator] = found
    if ((separator === undefined && !key.startsWith('-')) || !isSecretKey(key)) continue
    const start = assignment.lastIndex
    const end = endOf(quoted, text, start) ?? endOf(separator === ':' ? line : word, text, start)
    if (end === undefined) continue
    pieces.push(text.slice(done, start), hidden)
    done = end
    assignment.lastIndex = end
  }
  return pieces.length === 0 ? text : pieces.join('') + text.slice(done)
}

const endOf = (pattern: RegExp, text: string, start: number): number | undefined => {
  pattern.lastIndex = start
  return pattern.test(text) ? pattern.lastIndex : undefined
}

/** As a reader sees it: compatibility forms folded, what is invisible gone. */
const normal = (text: string): string =>
  /^[\t\n\r\x20-\x7e]*$/.test(text) ? text : text.normalize('NFKD').replace(/[\p{Cf}\p{Mn}\u115f\u1160\u3164]|[^\P{Cc}\t\n\r]/gu, '')
