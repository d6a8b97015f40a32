import { stripHidden } from './hidden.js'

/** What a credential is replaced by. */
export const hidden = '[redacted]'

/**
 * How published kinds of secrets begin; letters, digits, `_` and `-` follow. The issuers document them, and
 * secret scanners look for the same (gitleaks' default rules, GitHub's secret scanning).
 */
export const secretPrefixes: readonly string[] = [
  // Models
  'sk- sk_ gsk_ xai- hf_ pplx- r8_ nvapi- tvly-',
  // Code, packages, images
  'ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat- gldt- glrt- glptt- glcbt- glsoat- glimt- glagent-',
  'glffct- ATATT3 ATCTT3 ATBB npm_ pypi- rubygems_ dckr_pat_ dckr_oat_ CLOJARS_ AKCp sgp_ lin_api_',
  'lin_oauth_ ntn_ figd_ PMAK- rdme_ shpat_ shpca_ shppa_ shpss_',
  // Clouds and what runs there
  'AKIA ASIA ABIA ACCA LTAI AIza ya29. GOCSPX- dop_v1_ doo_v1_ dor_v1_ hvs. hvb. hvr. pul- dapi dp.pt. dp.st.',
  'fo1_ fm1_ fm2_ HRKU- pscale_tkn_ pscale_pw_ pscale_oauth_ sbp_ sb_secret_ tskey- nfp_',
  // Watching
  'glsa_ glc_ sntrys_ sntryu_ NRAK- NRII- phx_',
  // Messages and mail
  'xoxa- xoxb- xoxc- xoxd- xoxe- xoxe. xoxo- xoxp- xoxr- xoxs- xapp- SG. xkeysib- xsmtpsib- pat-na1-',
  'pat-eu1-',
  // Money
  'rk_ rk- pk_live_ pk_test_ whsec_ sq0atp- sq0csp- EAAA shippo_live_ shippo_test_ duffel_live_',
  'FLWSECK_TEST-',
  // Keys themselves, and JSON Web Tokens
  'AGE-SECRET-KEY- ops_eyJ eyJ',
].flatMap(prefixes => prefixes.split(' '))

const prefixed = new RegExp(
  `(?<![\\w-])(?:${secretPrefixes.map(prefix => prefix.replace('.', '\\.')).join('|')})[\\w-]{8,}[\\w.-]*`, 'g',
)

const secretWords = new RegExp(
  'passw|passphrase|passcode|kennwort|motdepasse|contrase|pwd|secret|token|credential|authori[sz]ation|' +
    'cookie|bearer|jwt|sess(?:ion)?id|signature|connectionstring|(?:api|access|private|shared|account)key',
)
/** Words that name a secret when they are the last of a name, or all of it. */
const lastWords: ReadonlySet<string> =
  new Set(['auth', 'pass', 'pw', 'pin', 'otp', 'cvv', 'cvc', 'sig', 'sid', 'psk', 'key'])

/** Whether a name is that of a secret: `API-Key`, `userPassword`, `DB_PASS`, `x_auth_token` and the like. */
export const isSecretName = (name: string): boolean => {
  const words = name.replace(/([a-z])([A-Z])/g, '$1 $2').toLowerCase().match(/[a-z]+/g) ?? []
  return secretWords.test(words.join('')) || lastWords.has(words.at(-1) ?? '')
}

/** `password=`, `"token": `, `--api-key `: a name, and what stands before the value. */
const assignment = /(?<![\w.-])([\w.-]+)[\\"'`\]]{0,4}(?:[ \t]{0,8}(=>|:=|={1,3}|:)[ \t]{0,8}|[ \t])/g
const quoted = /\\*(?:"[^"\\]*(?:\\[^][^"\\]*)*"?|'[^']*'?|`[^`]*`?)/y
const run = /[^\s"'`&<>]+/y
const line = /[^\r\n]+/y

/**
 * The text without what looks like a credential: a published prefix, a private key, what follows `Bearer` or
 * `Basic`, a password in a URL, and the value of an assignment to a secret's name.
 */
export const withoutCredentials = (text: string): string =>
  withoutAssigned(
    text.replace(/-{4,5} ?BEGIN[ A-Z0-9]{0,40}PRIVATE KEY[^]*/, hidden)
      .replace(/:\/\/[^\s"'`<>]+/g, withoutUser)
      .replace(prefixed, hidden)
      .replace(/(?<!\w)((?:bearer|basic)[ \t]{1,8})[\w.~+/=-]{6,}/gi, `$1${hidden}`),
  )

/** A password may have characters that should have been escaped: it ends at the last `@`. */
const withoutUser = (url: string): string => {
  const [, authority = ''] = /^:\/\/([^/?#]*)/.exec(url) ?? []
  const at = url.lastIndexOf('@')
  const hasUser = authority.includes('@') || /^:|:(?!\d{1,5}$)/.test(authority)
  return hasUser && at > 0 ? `://${hidden}${url.slice(at)}` : url
}

const withoutAssigned = (text: string): string => {
  const kept: string[] = []
  let done = 0
  for (const found of text.matchAll(assignment)) {
    const [whole, name = '', separator] = found
    const start = found.index + whole.length
    const isAssigned = separator !== undefined || name.startsWith('--')
    if (found.index < done || !isAssigned || !isSecretName(name)) continue
    // After a colon, the value ends with the line: `Cookie: a=b; c=d`, `password: two words`.
    const end = endOf(quoted, text, start) ?? endOf(separator === ':' ? line : run, text, start)
    if (end === undefined) continue
    kept.push(text.slice(done, start), hidden)
    done = end
  }
  return kept.join('') + text.slice(done)
}

const endOf = (pattern: RegExp, text: string, start: number): number | undefined => {
  pattern.lastIndex = start
  return pattern.test(text) ? pattern.lastIndex : undefined
}

/** Longest text of a client or server outside of payloads (names, ids, methods), in characters. */
const longestName = 256
/** Searched before the text is cut: the `@` of an address, which makes its password known, may come later. */
const maxSearched = 4096

/** Names recur with every call, and searching them costs more than the rest of a record. */
const maxNames = 1000
const clean = new Map<string, string>()

/** A name, URI or message: cut, without credentials, and well-formed. */
export const safeName = (text: string): string => {
  if (text.length > longestName) return wellFormed(cut(withoutCredentials(text.slice(0, maxSearched))))
  const known = clean.get(text)
  if (known !== undefined) return known
  const name = wellFormed(withoutCredentials(text))
  if (clean.size >= maxNames) clean.clear()
  clean.set(text, name)
  return name
}

/** The text without lone surrogates, which have no canonical form (RFC 8785). */
export const wellFormed = (text: string): string => text.replace(/\p{Cs}/gu, '\ufffd')

export const cut = (text: string, length = longestName): string =>
  (text.length <= length ? text : `${text.slice(0, length)}…`)

/** Such a text for messages and telemetry: without control or invisible characters as well. */
export const shown = (text: string): string => {
  const short = safeName(text)
  return plain.test(short) ? short : stripHidden(short.replace(/[\p{Cc}\p{Cf}\p{Cs}]/gu, ''))
}

const plain = /^[\x20-\x7e]*$/
