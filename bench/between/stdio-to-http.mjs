// The least that undici can do in front of a server by HTTP: `node stdio-to-http.mjs URL`. A line is a POST; its answer is written as it comes.
import { Pool } from 'undici'
import { eachLine } from '../lines.mjs'

const url = new URL(process.argv[2])
const pool = new Pool(url.origin, { connections: 64 })
const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

eachLine(process.stdin, body => {
  const pieces = []
  pool.dispatch({ path: url.pathname, method: 'POST', headers, body }, {
    onRequestStart: () => {},
    onResponseStart: (_, status, { 'mcp-session-id': session }) => {
      if (session !== undefined) headers['mcp-session-id'] = session
    },
    onResponseData: (_, chunk) => pieces.push(chunk),
    onResponseEnd: () => {
      if (pieces.length === 0) return
      process.stdout.cork()
      for (const piece of pieces) process.stdout.write(piece)
      process.stdout.write('\n')
      process.stdout.uncork()
    },
    onResponseError: (_, error) => process.stderr.write(`${error}\n`),
  })
})
process.stdin.on('end', () => process.exit())
