/** What a secret is replaced by. */
export const hidden = '[redacted]'

const secretWords = new RegExp(
  'passw(?:or[dt]|d)|kennwort|motdepasse|contrasena|passphrase|passcode|pwd|secret|token|credential|' +
    'authori[sz]ation|cookie|bearer|jwt|sess(?:ion)?id|connectionstring|webhookurl|securestring|' +
    'clientassertion|codeverifier|' +
    '(?:api|access|private|signing|encryption|shared|account|master|service)key|' +
    // `dbpass`, but not compass.
    '(?<!com|by|over|under|tres|sur)pass$|pw$',
)

/** Words that name a secret when they are the last of a name, or all of it. */
const lastWords: ReadonlySet<string> = new Set([
  'auth', 'xauth', 'pass', 'pin', 'otp', 'cvv', 'cvc', 'sig', 'signature', 'sid',
])

/** Words before `key` that make it the name of no secret. */
const plainKeys: ReadonlySet<string> = new Set([
  'public', 'primary', 'foreign', 'sort', 'partition', 'row', 'cache', 'object', 'idempotency', 'issue',
  'project', 'arrow',
])

/** Members that hold a name whose value is in another one: `{ "name": "Authorization", "value": "…" }`. */
export const nameNames: ReadonlySet<string> =
  new Set(['name', 'key', 'k', 'header', 'field', 'id', 'label', 'type', 'title', 'variable'])

/**
 * Caches the results of a function for texts that recur.
 * @param maxTexts so many are cached, then the cache is emptied
 * @param maxLength longest text that is cached, in characters
 */
export const remembering = <Value>(
  compute: (text: string) => Value, maxTexts: number, maxLength = Infinity,
): ((text: string) => Value) => {
  const cache = new Map<string, { readonly value: Value }>()
  return text => {
    if (text.length > maxLength) return compute(text)
    const known = cache.get(text)
    if (known !== undefined) return known.value
    const value = compute(text)
    if (cache.size >= maxTexts) cache.clear()
    cache.set(text, { value })
    return value
  }
}

/** The names of members recur with each record of a list. */
const maxNames = 1000
const maxNameLength = 64

/** Whether a key names a secret: `API-Key`, `userPassword`, `DB_PASS`, `x_auth_token` and the like. */
export const isSecretKey = remembering((key: string): boolean => {
  const name = normal(key)
  if (secretWords.test(lettersOf(name))) return true
  const words = name.replace(/(?<=\p{Ll})(?=\p{Lu})/gu, ' ').toLowerCase().split(/[^\p{L}\p{N}]+/u)
    .filter(word => word !== '')
  const last = words.at(-1) ?? ''
  return lastWords.has(last) || (last === 'key' && words.length > 1 && !plainKeys.has(words.at(-2) ?? ''))
}, maxNames, maxNameLength)

/** Whether two words together name a secret: `API key`, `session id`. */
export const isSecretCompound = (one: string, other: string): boolean =>
  secretWords.test(lettersOf(normal(one + other)))

const lettersOf = (name: string): string => name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '')

/** The text as a reader sees it: compatibility forms are folded, invisible characters removed. */
export const normal = (text: string): string => {
  if (/^[\t\n\r\x20-\x7e]*$/.test(text)) return text
  return text.normalize('NFKD').replace(/[\p{Cf}\p{Mn}\u115f\u1160\u3164]|[^\P{Cc}\t\n\r]/gu, '')
}
