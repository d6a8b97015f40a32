import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { honest, initializeOf, legacy } from './cases.js'

export const initialize = initializeOf('0')

const script = `
import { createInterface } from 'node:readline'
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => {})
setInterval(() => {}, 1 << 30)
const answer = (id, result) => console.log(JSON.stringify({ jsonrpc: '2.0', id, result }))
createInterface({ input: process.stdin }).on('line', line => {
  const { id, method } = JSON.parse(line)
  if (method === 'initialize') answer(id, { protocolVersion: '${legacy}', capabilities: { tools: {} }, serverInfo: { name: 'stubborn', version: '1' } })
  else if (method === 'tools/list') answer(id, { tools: [${honest}] })
})
console.error('started ' + process.pid)
`

/**
 * A server that takes no notice of the end of its stdin, nor of any signal that lets itself be ignored. It
 * answers the handshake and lists, and no call; and says on stderr who it is.
 * @returns its command
 */
export const stubborn = (directory: string): string[] => {
  const file = join(directory, 'stubborn.mjs')
  writeFileSync(file, script)
  return [process.execPath, file]
}
