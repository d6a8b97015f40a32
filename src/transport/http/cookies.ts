import type { HttpHeaders } from '../transport.js'

/**
 * A server's headers, where other servers are offered at other paths of one origin: its cookies are those of its own path, so that no
 * client brings them to another server, and none plants its own there (RFC 6265 section 5.4). One that insists on the whole origin
 * (`__Host-`) is refused by the client.
 * @param path such as `/files/`
 */
export const cookiesOf = (path: string, headers: HttpHeaders): HttpHeaders => {
  const cookies = headers.get('set-cookie')
  return cookies === undefined ? headers : new Map([...headers, ['set-cookie', cookies.map(cookie => at(path, cookie))]])
}

const at = (path: string, cookie: string): string => {
  const [pair = '', ...attributes] = cookie.split(';')
  return [pair, ...attributes.filter(attribute => !/^\s*path\s*(?:=|$)/i.test(attribute)), ` Path=${path}`].join(';')
}
