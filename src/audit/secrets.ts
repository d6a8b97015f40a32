import { isUtf8 } from 'node:buffer'
import { stripHidden } from '#protocol/text/hidden.js'
import { scrubAssignments } from './assignments.js'
import { hidden, isSecretKey, normal } from './secret-names.js'

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
  'AIza ya29. GOCSPX- dop_v1_ doo_v1_ dor_v1_ hvs. hvb. hvr. pul- dapi dp.pt. dp.st. fo1_ fm1_ fm2_',
  'HRKU- pscale_tkn_ pscale_pw_ pscale_oauth_ sbp_ sb_secret_ tskey- nfp_',
  // Watching
  'glsa_ glc_ sntrys_ sntryu_ NRAK- NRII- phx_',
  // Messages and mail
  'xoxa- xoxb- xoxc- xoxd- xoxe- xoxe. xoxo- xoxp- xoxr- xoxs- xapp- SG. xkeysib- xsmtpsib- pat-na1-',
  'pat-eu1-',
  // Money
  'rk_ rk- pk_live_ pk_test_ whsec_ sq0atp- sq0csp- EAAA shippo_live_ shippo_test_ duffel_live_',
  'FLWSECK_TEST-',
  // Keys themselves
  'AGE-SECRET-KEY- ops_eyJ',
].flatMap(prefixes => prefixes.split(' '))

const prefixPattern = secretPrefixes.map(prefix => prefix.replace('.', '\\.')).join('|')

const pem = '[A-Z0-9 +]{0,40}PRIVATE[ +]KEY[^-]{0,20}-{4,5}'

const webhooks = [
  'hooks\\.slack\\.com\\/(?:services|workflows|triggers)\\/', 'discord(?:app)?\\.com\\/api\\/webhooks\\/',
  'webhook\\.office\\.com\\/webhookb2\\/',
].join('|')

type Pattern = readonly [RegExp, string | ((found: string, before: string, secret: string) => string)]

/** A command's option, and its value. The words between them are few: the search takes linear time. */
const optionOf = (command: string, option: string): RegExp => new RegExp(
  `(?<!\\w)(${command}\\s(?:[^|&;\\n]{0,200}?\\s)??${option})(?:"[^"]*"?|'[^']*'?|[^\\s|&;"']+)`, 'g',
)

// Each pattern can match only at the beginning of a run of its letters: the search takes linear time.
const patterns: readonly Pattern[] = [
  // RFC 7468, RFC 4716 (`---- BEGIN`), and the files of PuTTY.
  [new RegExp(`-{4,5} ?BEGIN[ +]${pem}[\\s\\S]*?(?:-{4,5} ?END[ +]${pem}|$)`, 'gi'), hidden],
  [/(Private-Lines:)[\s\S]*?(?=\sPrivate-MAC|$)/g, `$1${hidden}`],
  [new RegExp(`(?<![\\w-])(?:${prefixPattern})[\\w-]{8,}[\\w.-]*`, 'g'), hidden],
  [/(?<!\w)(?:AKIA|ASIA|ABIA|ACCA|LTAI)[A-Za-z0-9]{12,}/g, hidden],
  [/(?<![\w-])(?:key-[0-9a-f]{32}|SK[0-9a-f]{32}|[0-9a-f]{32}-us\d{1,2})(?![\w-])/g, hidden],
  [/(?<![\w-])eyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]*)*/g, hidden],
  [/(?<!\w)(bearer\s+)[\w.~+/=-]{6,}/gi, `$1${hidden}`],
  [
    /(?<!\w)(basic\s+)([\w+/-]{4,}={0,2})/gi,
    (found, before, secret) => (isBasic(secret) ? before + hidden : found),
  ],
  // A Discord bot's token, and hashes of passwords (crypt(5)).
  [/(?<![\w-])[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{25,}/g, hidden],
  [/(?<![\w$])\$(?:apr1|[1567y]|2[abxy]|argon2\w{1,2}|scrypt)\$[\w./$,=+-]{10,}/g, hidden],
  // A Telegram bot's number and token.
  [/(?<![A-Za-z0-9_-])((?:bot)?\d{3,12}:)AA[\w-]{10,}/g, `$1${hidden}`],
  // Anyone who knows the URL of a webhook may post to it.
  [new RegExp(`(${webhooks})[^\\s"'<>]{1,512}`, 'gi'), `$1${hidden}`],
  [/([?&#;](?:key|code)=)[^\s&#"'<>]{1,4096}/gi, `$1${hidden}`],
  // curl -u NAME:PASSWORD, docker login -p PASSWORD
  [/(?<!\S)(-u\s*|--(?:proxy-)?user(?:\s+|=))(["']?[^\s:"']{1,256}):[^\s"']+/g, `$1$2:${hidden}`],
  [optionOf('(?:sshpass|login)', '-p\\s*'), `$1${hidden}`],
  // mysql -pPASSWORD (with a space it is a database), redis-cli -a PASSWORD
  [optionOf('(?:mysql|mariadb)[\\w-]{0,20}', '-p'), `$1${hidden}`],
  [optionOf('redis-cli', '-a\\s+'), `$1${hidden}`],
  [/(?<!\w)(identified\s+by\s+)(?:'[^']*'?|"[^"]*"?)/gi, `$1${hidden}`],
  // A data: URI, a blob or a Kubernetes secret may be the base64 of a text.
  [
    /(?<![\w+/=-])[\w+/-]{24,}={0,2}/g,
    found => (isSecretText(Buffer.from(found, 'base64')) ? hidden : found),
  ],
]

const isSecretText = (bytes: Buffer): boolean => {
  const text = isUtf8(bytes) ? bytes.toString() : ''
  return scrub(text) !== text
}

/** Credentials (RFC 7617), not a word of prose: long, padded, or a name and a password when decoded. */
const isBasic = (text: string): boolean =>
  text.length >= 16 || text.endsWith('=') ||
  /^[ -~]*:[ -~]*$/.test(Buffer.from(text, 'base64').toString('latin1'))

/** The text without secrets. They are recognised by their form, or by the name before them. */
export const withoutSecrets = (text: string): string => {
  const plain = scrub(text)
  // A secret behind invisible characters or escapes cannot be cut out alone: the whole text is hidden.
  return readingsOf(plain).every(reading => scrub(reading) === reading) ? plain : hidden
}

/**
 * A text may be JSON text, with strings that are JSON text again. So many levels are searched for secrets, or
 * their escapes undone; below them a whole text is hidden.
 */
export const maxLevels = 3
/** Those of JSON and of programs, of addresses, of HTML, and those of a JSON Pointer. */
const escape = new RegExp(
  '\\\\u([\\da-f]{4})|(?:%|\\\\x)([\\da-f]{2})|(?:\\\\u\\{|&#x)([\\da-f]{1,6})[};]|&#(\\d{1,7});|' +
    '\\\\(["\\\\/bfnrt])|(~[01]|&(?:quot|apos|amp|lt|gt);)', 'gi',
)
const escapes: ReadonlyMap<string, string> = new Map([
  ['~0', '~'], ['~1', '/'], ['b', '\b'], ['f', '\f'], ['n', '\n'], ['r', '\r'], ['t', '\t'],
  ['&quot;', '"'], ['&apos;', '\''], ['&amp;', '&'], ['&lt;', '<'], ['&gt;', '>'],
])

const unescaped = (
  _: string, four?: string, two = four, hex = two, decimal?: string, letter = '', step = letter,
): string => {
  const code = hex === undefined ? Number(decimal) : parseInt(hex, 16)
  return code <= 0x10ffff ? String.fromCodePoint(code) : (escapes.get(step) ?? step)
}

/** The other texts that a reader may take it for. */
const readingsOf = (text: string): readonly string[] => {
  const readings = [text]
  for (let level = 0, last = text; level <= maxLevels; level++) {
    const next = normal(level === 0 ? text : last.replace(escape, unescaped))
    if (next !== last) readings.push(next)
    last = next
  }
  return readings.slice(1)
}

const scrub = (text: string): string =>
  patterns.reduce((rest, [pattern, instead]) => {
    // TypeScript resolves the overloads of `replace` only for one of the two types.
    return typeof instead === 'string' ? rest.replace(pattern, instead) : rest.replace(pattern, instead)
  }, scrubUrls(scrubAssignments(scrubTags(scrubTables(text)))))

/** The name of a column. */
const columnName = /^["']?[\w.-]{0,40}(?: [\w.-]{1,20})?["']?$/

/** The columns with secret names in a table of text: Markdown, CSV, or what a database's shell prints. */
const scrubTables = (text: string): string => {
  let [delimiter, secret]: readonly [string, readonly boolean[]] = ['', []]
  const rows = text.split('\n')
  return rows.length < 2 ? text : rows.map(row => {
    if (/^[-+|:=\s]+$/.test(row)) return row
    const cells = secret.length === 0 ? [] : row.split(delimiter)
    if (cells.length > 0 && cells.length === secret.length) {
      const hide = (cell: string) => cell.replace(/\S.*\S|\S/, hidden)
      return cells.map((cell, index) => (secret[index] === true ? hide(cell) : cell)).join(delimiter)
    }
    secret = []
    for (delimiter of ['|', '\t', ',']) {
      const names = row.split(delimiter).map(name => name.trim())
      if (names.filter(name => name !== '').length < 2 || !names.every(name => columnName.test(name))) continue
      secret = names.map(isSecretKey)
      if (secret.includes(true)) break
      secret = []
    }
    return row
  }).join('\n')
}

const tag = /<([\w:.-]+)([^<>]*)>(<!\[CDATA\[)?([^<]*)/g
const nameAttribute = /(?<![\w-])(?:name|key|id|type|field|label)\s*=\s*["']?([^\s"'>]{1,100})/gi
const valueAttribute = /((?<![\w-])(?:value|content|data|default)\s*=\s*)(?:"[^"]*"?|'[^']*'?|[^\s>]+)/gi

/** `<password>…</password>`, `<entry key="password">…</entry>`, `<input name="password" value="…">` */
const scrubTags = (text: string): string => {
  let isOuterSecret = false
  return text.replace(tag, (found, name: string, attributes: string, data = '', content: string) => {
    const names = [name, ...[...attributes.matchAll(nameAttribute)].map(([, value = '']) => value)]
    const isSecret = names.some(isSecretKey) || (isOuterSecret && /^(?:value|string|data)$/i.test(name))
    // `<setting name="password"><value>…`; in a property list `<key>password</key><string>…`
    isOuterSecret = (isSecret && content.trim() === '') || (name === 'key' && isSecretKey(content))
    if (!isSecret) return found
    const shownAttributes = attributes.replace(valueAttribute, `$1"${hidden}"`)
    return `<${name}${shownAttributes}>${data}${content.trim() === '' ? content : hidden}`
  })
}

/**
 * scheme://user:password@host; the password may contain characters that should have been escaped. An address
 * that was cut short has lost its `@`.
 */
const scrubUrls = (text: string): string =>
  text.replace(/:\/\/[^\s"'<>]+/g, (run, offset: number) => {
    const [, ...urls] = run.split('://')
    let before = text.slice(Math.max(0, offset - 5), offset)
    return urls.map(url => {
      const isWeb = /https?$/.test(before)
      before = url.slice(-5)
      const [user] = /^[^/?#@:]*:/.exec(url) ?? []
      const hasPort = isWeb && /^\d{1,5}[/?#…]/.test(url.slice(user?.length))
      const hasPassword = user !== undefined && /@|…$/.test(url) && !hasPort
      if (hasPassword) return `://${hidden}@${url.slice(url.lastIndexOf('@') + 1)}`
      return `://${url.replace(/^[^/?#@]+@/, `${hidden}@`)}`
    }).join('')
  })

/** Longest text of a client or server outside of payloads (names, ids, methods), in characters. */
const longestName = 256

export const cut = (text: string, length = longestName): string =>
  (text.length <= length ? text : `${text.slice(0, length)}…`)

/** A text from the wire for messages and telemetry: cut, without secrets, control or invisible characters. */
export const shown = (text: string): string => {
  const short = cut(text)
  return withoutSecrets(plain.test(short) ? short : stripHidden(short.replace(/[\p{Cc}\p{Cf}\p{Cs}]/gu, '')))
}

const plain = /^[\x20-\x7e]*$/
