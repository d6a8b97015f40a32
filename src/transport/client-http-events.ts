import type { Frame } from '../protocol/frame.js'

const lineEnd = Buffer.from('\n')
const data = Buffer.from('data: ')
const eventEnd = Buffer.from('\n\n')

/** A message as a server-sent event, with the lines that the server dressed it in. */
export const eventOf = ({ bytes, envelope }: Frame): Buffer => {
  const dressing = Buffer.from(ended(envelope?.event ?? ''))
  // JSON may hold line ends between its tokens, and a line end ends the line of an event.
  if (!bytes.includes(0x0a) && !bytes.includes(0x0d)) return Buffer.concat([dressing, data, bytes, eventEnd])
  const lines = bytes.toString().split(/\r\n|\n|\r/)
  return Buffer.concat([dressing, Buffer.from(lines.map(line => `data: ${line}\n`).join('')), lineEnd])
}

/** An event without a message: comments, `id:` and `retry:` of an empty one. */
export const emptyEvent = (lines: string): Buffer => Buffer.from(`${ended(lines)}\n`)

const ended = (lines: string): string => (lines === '' || /[\r\n]$/.test(lines) ? lines : `${lines}\n`)
