import type { IncomingHttpHeaders } from 'node:http'
import { readMediaType } from '../../protocol/headers.js'
import { refusal, type Refusal } from './refusal.js'

export const json = 'application/json'
export const eventStream = 'text/event-stream'

/** A body that we read as JSON in UTF-8 must say that it is that: anything else could be read differently behind us. */
export const checkContentType = ({ 'content-type': header }: IncomingHttpHeaders): Refusal | undefined => {
  const { type, parameters, isUtf8 } = readMediaType(header)
  // A comma joins two headers of the name.
  if (type !== json || !isUtf8 || parameters.some(parameter => parameter.includes(','))) {
    return refusal(415, 'The Content-Type must be application/json', { 'accept-post': json })
  }
  return undefined
}

/** A POST may be answered with either type, and which one is not known beforehand; a GET only with a stream. */
export const checkAccept = (method: 'POST' | 'GET', { accept }: IncomingHttpHeaders): Refusal | undefined => {
  // Without the header anything is acceptable (RFC 9110, section 12.5.1).
  if (accept === undefined || accept === usual) return undefined
  const needed = method === 'POST' ? [json, eventStream] : [eventStream]
  return needed.every(type => accepts(accept, type)) ? undefined : refusal(406, `The Accept header must allow ${needed.join(' and ')}`)
}

/** What clients send that keep to the letter of the specification. */
const usual = `${json}, ${eventStream}`

const accepts = (accept: string, type: string): boolean => {
  const ranges = ['*/*', `${type.slice(0, type.indexOf('/'))}/*`, type]
  return accept.split(',').some(entry => {
    const [range = '', ...parameters] = entry.split(';').map(part => part.trim().toLowerCase())
    return ranges.includes(range) && !parameters.some(parameter => /^q=0(?:\.0*)?$/.test(parameter))
  })
}
