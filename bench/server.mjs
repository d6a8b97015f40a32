// A server that costs nothing, on a pipe.
import { createInterface } from 'node:readline'
import { resultOf } from './answers.mjs'

createInterface({ input: process.stdin }).on('line', line => {
  const message = JSON.parse(line)
  if (message.id !== undefined) process.stdout.write(`{"jsonrpc":"2.0","id":${message.id},"result":${resultOf(message) ?? '{}'}}\n`)
})
