import type { DataObject } from '#relay/protocol/unmetered.js'
import type { SitePage } from '#relay/transport/front/site.js'

export const jsonAnswer = (
  status: number, body: DataObject, headers: SitePage['headers'] = { 'cache-control': 'no-store' },
): SitePage => ({
  status, headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body),
})

/** An error of the token endpoint (RFC 6749, section 5.2). */
export const fault = (error: string, status = 400): SitePage => jsonAnswer(status, { error })

/** Sends a browser elsewhere by GET, without telling where it comes from. */
export const redirect = (location: string): SitePage => ({
  status: 303, headers: { location, 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' }, body: '',
})

/** @returns undefined for another type, or where a parameter comes twice (RFC 6749, section 3.2) */
export const formIn = (body: string, type = ''): URLSearchParams | undefined => {
  if (!/^application\/x-www-form-urlencoded\b/i.test(type)) return undefined
  const form = new URLSearchParams(body)
  return isRepeated(form) ? undefined : form
}

export const isRepeated = (form: URLSearchParams): boolean =>
  new Set(form.keys()).size < [...form.keys()].length
