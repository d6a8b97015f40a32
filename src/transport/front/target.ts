import type { IncomingHttpHeaders } from 'node:http'
import type { FrontRequest } from './request.js'

/** Of a target in whichever form (RFC 9112, section 3.2), without its query and the slash behind it. */
export const pathOf = ({ url = '' }: Pick<FrontRequest, 'url'>): string => {
  const target = url.startsWith('/') ? url : url.replace(absolute, '')
  const query = target.indexOf('?')
  const path = query < 0 ? target : target.slice(0, query)
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path
}
const absolute = /^https?:\/\/([^/?#]*)/i

/** Whom the request is for: the target's own word, where it has one, and not the header's (RFC 9112, section 3.2.2). */
export const namesOf = ({ url = '', headers }: Pick<FrontRequest, 'url' | 'headers'>): IncomingHttpHeaders => {
  const host = url.startsWith('/') ? undefined : absolute.exec(url)?.[1]
  return host === undefined ? headers : { ...headers, host }
}
