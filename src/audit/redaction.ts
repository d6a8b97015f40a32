import type { Schema } from '#core/catalog.js'
import type { Entry } from '#core/event.js'
import { isRevision, methodOf } from '#protocol/revisions/index.js'
import { stripHidden } from '#protocol/text/hidden.js'
import {
  isArray, isObject, isString, type Json, type JsonObject, unmetered,
} from '#protocol/unmetered.js'

// A list of the forms of secrets is never complete. So values are redacted by what may stay (`redacted`);
// names, URIs and messages must stay readable, and lose what a short list knows (`withoutCredentials`).

/** What a credential is replaced by. */
export const hidden = '[redacted]'

/** Texts that a tool declares in its schemas: values of `enum` and `const`, and names of properties. */
export type Declared = readonly ReadonlySet<string>[]

/** One word. In scripts that are written without spaces, a run of letters may be a whole sentence. */
const word = new RegExp(
  '^(?:(?![\\p{sc=Han}\\p{sc=Hiragana}\\p{sc=Katakana}\\p{sc=Thai}\\p{sc=Lao}\\p{sc=Khmer}\\p{sc=Myanmar}])' +
    '[\\p{L}\\p{M}]){1,32}$', 'u',
)

/** Words with a few digits at their ends, such as `ipv4_address`: a key or token has digits within. */
const memberName =
  /^(?=.{1,64}$)[$@]?_{0,2}[\p{L}\p{M}]{1,32}\d{0,3}(?:[_./:-]{1,2}[\p{L}\p{M}]{1,32}\d{0,3})*_{0,2}$/u

/** A redacted text may be redacted again: in a replay. */
const placeholder = /^\[(?:text|name(?: \d{1,9})?), \d{1,9} characters\]$/

/** Constants of the protocol that are no single word; also its methods and revisions. */
const constants: ReadonlySet<string> =
  new Set(['2.0', 'input_required', 'resource_link', 'tool_result', 'tool_use'])

const isDeclared = (text: string, declared: Declared): boolean =>
  declared.some(texts => texts.has(text)) || placeholder.test(text)

/**
 * The value with its structure: numbers, booleans, null, names of members, declared texts and single words
 * stay. Every other text is replaced by its length.
 */
export const redacted = (value: Json, declared: Declared = []): Json => {
  if (isString(value)) return redactedText(value, declared)
  if (isArray(value)) return value.map(one => redacted(one, declared))
  return isObject(value) ? mapMembers(value, declared, held => redacted(held, declared)) : value
}

export const redactedText = (text: string, declared: Declared): string =>
  text === '' || word.test(text) || isDeclared(text, declared) ||
  constants.has(text) || isRevision(text) || methodOf(text) !== undefined
    ? text
    : `[text, ${text.length} characters]`

const isMemberName = (name: string, declared: Declared): boolean =>
  memberName.test(name) || isDeclared(name, declared)

/** The path of a finding, or what was mended there: the peer chose the names of members. */
export const redactedPath = (path: string, declared: Declared = []): string =>
  path.replace(/[^/, ]+/g, part =>
    (/^\d{1,9}$/.test(part) || isMemberName(part.replaceAll('~1', '/'), declared)
      ? part
      : `[name, ${part.length} characters]`))

/** The message of a finding, in which texts of the peer are quoted. */
export const redactedMessage = (message: string, declared: Declared = []): string =>
  withoutCredentials(message.replace(/"[^"\\]*(?:\\[^][^"\\]*)*"?/g, part => {
    const text = part.slice(1, -1)
    return isMemberName(text, declared) ? part : redactedText(text, declared)
  }))

/** The object with other values. A name that may be a secret, such as a token in a map, loses its letters. */
export const mapMembers = (
  object: JsonObject, declared: Declared, valueOf: (held: Json, key: string) => Json,
): JsonObject => {
  let unnamed = 0
  // `fromEntries` makes `__proto__` a member like any other.
  return Object.fromEntries(Object.entries(object).map(([key, held = null]) => {
    const name = isMemberName(key, declared) ? key : `[name ${++unnamed}, ${key.length} characters]`
    return [name, valueOf(held, key)]
  }))
}

/** What a called tool declares. */
export const declaredBy = (called: Entry['called']): Declared =>
  (called ? declaredIn([...called.inputSchemas, ...called.outputSchemas]) : [])

/** What schemas declare. A schema that was read before is not read again. */
export const declaredIn = (schemas: readonly Schema[]): Declared => schemas.flatMap(schema => {
  if (typeof schema === 'boolean') return []
  const known = texts.get(schema)
  if (known !== undefined) return [known]
  const found = new Set<string>()
  collect(unmetered(schema), found)
  texts.set(schema, found)
  return [found]
})

const texts = new WeakMap<Exclude<Schema, boolean>, ReadonlySet<string>>()

/** Members of a schema whose names its author chose. */
const named: ReadonlySet<string> = new Set(['properties', 'patternProperties', '$defs', 'definitions'])

const collect = (schema: Json, found: Set<string>, isValue = false): void => {
  if (isString(schema) && isValue) found.add(schema)
  if (isArray(schema)) for (const one of schema) collect(one, found, isValue)
  if (!isObject(schema)) return
  for (const [key, held = null] of Object.entries(schema)) {
    if (isValue) found.add(key)
    if (named.has(key) && isObject(held)) for (const name of Object.keys(held)) found.add(name)
    collect(held, found, isValue || key === 'enum' || key === 'const')
  }
}

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
export const nameOf = (text: string): string => {
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
  const short = nameOf(text)
  return plain.test(short) ? short : stripHidden(short.replace(/[\p{Cc}\p{Cf}\p{Cs}]/gu, ''))
}

const plain = /^[\x20-\x7e]*$/
