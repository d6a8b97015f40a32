import { stripHidden } from '../protocol/text/hidden.js'
import { secretPrefixes } from './secret-prefixes.js'

/** What stands in the place of a secret. */
export const hidden = '[redacted]'

const secretWords = new RegExp(
  'passw(?:or)?d|passphrase|passcode|pwd|secret|token|authori[sz]ation|credential|cookie|bearer|jwt|sess(?:ion)?id|' +
    'connectionstring|webhookurl|(?:api|access|private|signing|encryption|shared|account|master|service)key|' +
    // `dbpass`, but no compass.
    '(?<!com|by|over|under|tres|sur)pass$|pw$',
)

/** What is a secret as the last word of a name, or as all of it. */
const lastWords: ReadonlySet<string> = new Set(['auth', 'xauth', 'pass', 'pin', 'otp', 'cvv', 'cvc', 'sig', 'signature', 'sid'])

/** Keys that open nothing. */
const plainKeys: ReadonlySet<string> = new Set(
  ['public', 'primary', 'foreign', 'sort', 'partition', 'row', 'cache', 'object', 'idempotency', 'issue', 'project', 'arrow'],
)

/**
 * A cache of a function, for texts that come again and again.
 * @param most so many texts are kept, then it begins anew
 * @param longest text that is kept, in characters
 */
export const remembering = <Value>(say: (text: string) => Value, most: number, longest = Infinity): ((text: string) => Value) => {
  const known = new Map<string, { readonly said: Value }>()
  return text => {
    if (text.length > longest) return say(text)
    const before = known.get(text)
    if (before !== undefined) return before.said
    const said = say(text)
    if (known.size >= most) known.clear()
    known.set(text, { said })
    return said
  }
}

/** So many names are remembered, and so long ones, in characters: those of a list of records come again with each of them. */
const mostKnown = 1000
const longestKnown = 64

/** Whether what such a key holds is a secret: `API-Key`, `userPassword`, `DB_PASS`, `x_auth_token`, in whatever disguise. */
export const isSecretKey = remembering((key: string): boolean => {
  const name = normal(key)
  if (secretWords.test(name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, ''))) return true
  const words = name.replace(/(?<=\p{Ll})(?=\p{Lu})/gu, ' ').toLowerCase().split(/[^\p{L}\p{N}]+/u).filter(word => word !== '')
  const last = words.at(-1) ?? ''
  return lastWords.has(last) || (last === 'key' && words.length > 1 && !plainKeys.has(words.at(-2) ?? ''))
}, mostKnown, longestKnown)

type Pattern = readonly [RegExp, string | ((found: string, before: string, secret: string) => string)]

// Each pattern begins where a run of its letters begins, so that no text makes it look at the same letters again and again.
const patterns: readonly Pattern[] = [
  [/-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY[^-]{0,20}-----[\s\S]*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY[^-]{0,20}-----|$)/g, hidden],
  [new RegExp(`(?<![\\w-])(?:${secretPrefixes.map(prefix => prefix.replace('.', '\\.')).join('|')})[\\w-]{8,}[\\w.-]*`, 'g'), hidden],
  [/(?<!\w)(?:AKIA|ASIA|ABIA|ACCA|LTAI)[A-Za-z0-9]{12,}/g, hidden],
  [/(?<![\w-])(?:key-[0-9a-f]{32}|SK[0-9a-f]{32}|[0-9a-f]{32}-us\d{1,2})(?![\w-])/g, hidden],
  [/(?<![\w-])eyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]*)*/g, hidden],
  [/(?<!\w)(bearer\s+)[\w.~+/=-]{6,}/gi, `$1${hidden}`],
  [/(?<!\w)(basic\s+)([\w+/-]{4,}={0,2})/gi, (found, before, secret) => (isBasic(secret) ? before + hidden : found)],
  // A bot's: its number and its token.
  [/(?<![A-Za-z0-9_-])((?:bot)?\d{3,12}:)AA[\w-]{10,}/g, `$1${hidden}`],
  // Whoever knows the address may post there.
  [/(hooks\.slack\.com\/(?:services|workflows|triggers)\/|discord(?:app)?\.com\/api\/webhooks\/|webhook\.office\.com\/webhookb2\/)[^\s"'<>]{1,512}/gi, `$1${hidden}`],
  [/([?&#;](?:key|code)=)[^\s&#"'<>]{1,4096}/gi, `$1${hidden}`],
  // curl -u NAME:PASSWORD
  [/(?<!\S)(-u\s*|--(?:proxy-)?user(?:\s+|=))([^\s:"']{1,256}):\S+/g, `$1$2:${hidden}`],
]

/** Credentials (RFC 7617) rather than a word of prose: long, padded, or a name and a password when decoded. */
const isBasic = (text: string): boolean => text.length >= 16 || text.endsWith('=') || /^[ -~]*:[ -~]*$/.test(Buffer.from(text, 'base64').toString('latin1'))

/** The text without the secrets that it shows by their form, or by the name before them. */
export const withoutSecrets = (text: string): string => {
  const plain = scrub(text)
  const revealed = normal(plain)
  // A secret that shows only without the disguise cannot be cut out of the disguised text.
  return revealed === plain || scrub(revealed) === revealed ? plain : hidden
}

const scrub = (text: string): string =>
  patterns.reduce(
    (rest, [pattern, instead]) => (typeof instead === 'string' ? rest.replace(pattern, instead) : rest.replace(pattern, instead)),
    scrubUrls(scrubAssignments(scrubTags(text))),
  )

const nameAttribute = /(?<![\w-])(?:name|key|id|type|field|label)\s*=\s*["']?([^\s"'>]{1,100})/gi
const valueAttribute = /((?<![\w-])(?:value|content|data|default)\s*=\s*)(?:"[^"]*"?|'[^']*'?|[^\s>]+)/gi

/** `<password>…</password>`, `<entry key="password">…</entry>`, `<input name="password" value="…">` */
const scrubTags = (text: string): string =>
  text.replace(/<([\w:.-]+)([^<>]*)>(<!\[CDATA\[)?([^<]*)/g, (found, name: string, attributes: string, data: string | undefined, content: string) => {
    const isSecret = isSecretKey(name) || [...attributes.matchAll(nameAttribute)].some(([, one = '']) => isSecretKey(one))
    if (!isSecret) return found
    return `<${name}${attributes.replace(valueAttribute, `$1"${hidden}"`)}>${data ?? ''}${content.trim() === '' ? content : hidden}`
  })

/** scheme://user:password@host, where a password may hold what has to be escaped there and is not; a port is none. */
const scrubUrls = (text: string): string =>
  text.replace(/:\/\/[^\s"'<>]+/g, (run, offset: number) => {
    const [, ...urls] = run.split('://')
    let before = text.slice(Math.max(0, offset - 5), offset)
    return urls.map(url => {
      const isWeb = /https?$/.test(before)
      before = url.slice(-5)
      const [user] = /^[^/?#@:]*:/.exec(url) ?? []
      const hasPassword = user !== undefined && url.includes('@') && !(isWeb && /^\d{1,5}[/?#]/.test(url.slice(user.length)))
      return `://${hasPassword ? `${hidden}@${url.slice(url.lastIndexOf('@') + 1)}` : url.replace(/^[^/?#@]+@/, `${hidden}@`)}`
    }).join('')
  })

const assignment = /(?<![\w.-])([\w.-]+)(?:(?:\\*["'`]|%(?:25)*2[27])?\s*(=>|:=|[:=]|%(?:25)*3[AD])\s*|\s+)/gi
/** After `name: `: a name and, beside it, its value. */
const pair = /["'`]?([\w.-]{1,100})["'`]?[\s,;]{1,64}["'`]?(?:value|val|content|data|default)["'`]?\s{0,64}(?:=>|:=|[:=])\s{0,64}/iy
// The second form is a quotation within a quotation. Python writes b'…', C# @"…".
const quoted = /[bru@$]{0,2}(?:"(?:[^"\\]|\\[\s\S])*(?:"|$)|\\+"[^"]*(?:"|$)|'[^']*(?:'|$)|`[^`]*(?:`|$))/iy
/** YAML's block: every line that is indented. */
const block = /[|>][-+\d]{0,2}[ \t]*(?:\r?\n(?:[ \t]+[^\r\n]*|(?=\r?\n)))+/y
/** RFC 9110, section 11.4: what follows the scheme is a list. */
const scheme = /(?:digest|negotiate|ntlm|hawk|oauth|aws4-hmac-sha256|signature)\s[^\r\n]*/iy
const line = /[^\r\n]+/y
const word = /[^\s"'&<>]+/y
// Nobody would say "password expired" with a digit in it.
const mixed = /(?:(?:is|was)\s+)?(?=[^\s"'&<>,;\d]{0,200}\d)(?=[^\s"'&<>,;A-Za-z]{0,200}[A-Za-z])[^\s"'&<>,;]{6,}/y

/**
 * `password: …`, `token=…`, `--api-key …`, `Cookie: …`: quoted, in brackets, a word, or after a colon the rest of the line. Where
 * only a space stands between, a quotation, or what looks like no word.
 */
const scrubAssignments = (text: string): string => {
  const pieces: string[] = []
  let done = 0
  let before = { word: '', end: -1 }
  for (let found = assignment.exec(text); found; found = assignment.exec(text)) {
    const [, key = '', separator] = found
    let start = assignment.lastIndex
    const isAssigned = separator !== undefined || key.startsWith('-')
    // Of the words of prose, hardly one has such a neighbour: it is looked at first.
    const neighbour = isAssigned ? undefined : (endOf(quoted, text, start) ?? endOf(mixed, text, start))
    const previous = before.end === found.index ? before.word : ''
    before = { word: key, end: start }
    if (!isAssigned && neighbour === undefined) continue
    const named = separator !== undefined && nameNames.has(key.toLowerCase()) ? pairAt(text, start) : undefined
    start = named ?? start
    if (named === undefined && !isSecretKey(key) && !(separator !== undefined && isSecretPhrase(previous, key))) continue
    const end = neighbour ?? valueEnd(text, start, separator, key)
    if (end === undefined) continue
    pieces.push(text.slice(done, start), hidden)
    done = end
    assignment.lastIndex = end
  }
  return pieces.length === 0 ? text : pieces.join('') + text.slice(done)
}

/** `The API key: …`, `the password is: …`; but no `token count: …`. */
const isSecretPhrase = (previous: string, key: string): boolean =>
  previous !== '' && (/^(?:is|was)$/i.test(key) ? isSecretKey(previous) : !isSecretKey(previous) && isSecretCompound(previous, key))

/** Whether two words are one secret's name: `API key`, `session id`. */
export const isSecretCompound = (one: string, other: string): boolean =>
  secretWords.test(normal(one + other).toLowerCase().replace(/[^\p{L}\p{N}]/gu, ''))

/** Where the value begins whose secret name stands here. */
const pairAt = (text: string, start: number): number | undefined => {
  pair.lastIndex = start
  const [, name] = pair.exec(text) ?? []
  return name !== undefined && isSecretKey(name) ? pair.lastIndex : undefined
}

const valueEnd = (text: string, start: number, separator: string | undefined, key: string): number | undefined =>
  endOf(quoted, text, start) ?? endOf(block, text, start) ?? bracketEnd(text, start, separator === ':' ? '[{' : '[{(') ??
  (/auth/i.test(key) ? endOf(scheme, text, start) : undefined) ?? endOf(separator === ':' ? line : word, text, start)

/** Behind the bracket that ends what begins here; what has no end is all that follows. */
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

/** Under these a name stands beside its value: `{ "name": "Authorization", "value": "…" }`, `{ "type": "password", "value": "…" }`. */
export const nameNames: ReadonlySet<string> = new Set(['name', 'key', 'header', 'field', 'id', 'label', 'type', 'title'])

/** As a reader sees it: compatibility forms folded, what is invisible gone. */
const normal = (text: string): string =>
  /^[\t\n\r\x20-\x7e]*$/.test(text) ? text : text.normalize('NFKD').replace(/[\p{Cf}\p{Mn}\u115f\u1160\u3164]|[^\P{Cc}\t\n\r]/gu, '')

/** Longest text of a peer's, in characters; as in a record. */
const longestShown = 256

/** A text from the wire as it is told: cut, without secrets, and with nothing that would change how it is shown. */
export const shown = (text: string): string => {
  const short = text.length <= longestShown ? text : `${text.slice(0, longestShown)}…`
  return withoutSecrets(plain.test(short) ? short : stripHidden(short.replace(/[\p{Cc}\p{Cf}\p{Cs}]/gu, '')))
}

const plain = /^[\x20-\x7e]*$/
