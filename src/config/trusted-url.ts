/** The hosts of this machine, as `URL` spells them. */
const isLoopback = (host: string): boolean => /^(localhost|127(\.[0-9]{1,3}){3}|\[::1\])$/.test(host)

/**
 * A URL that can stand for trust: https, or http to this machine alone, with no user, query or fragment, and a path that
 * two servers cannot read differently.
 * @returns undefined when it is none
 */
export const trustedPrefix = (text: string): URL | undefined => {
  const url = readUrl(text)
  return url === undefined || url.search !== '' || url.hash !== '' ? undefined : url
}

/** Whether the URL lies at the prefix or below it, by whole path segments. */
export const isBelow = (text: string, prefix: string): boolean => {
  const url = readUrl(text)
  const root = trustedPrefix(prefix)
  if (url === undefined || root === undefined || url.origin !== root.origin) return false
  const path = root.pathname.replace(/\/+$/, '')
  return url.pathname === path || url.pathname.startsWith(`${path}/`)
}

const readUrl = (text: string): URL | undefined => {
  if (!URL.canParse(text)) return undefined
  const url = new URL(text)
  const safe = url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname))
  const anonymous = url.username === '' && url.password === ''
  return safe && anonymous && !isSlippery(url.pathname) ? url : undefined
}

// `URL` has resolved `..` and `%2e%2e`. What is left are spellings that some servers resolve later: encoded separators, dots
// and percent signs, and path parameters (`/..;/`).
const isSlippery = (path: string): boolean => /%(2e|2f|5c|25|00|3b)|\\|;|\/\.\.?(\/|$)/i.test(path)
