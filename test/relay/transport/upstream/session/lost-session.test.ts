import t from 'tap'
import type { HttpHeaders } from '#relay/transport/transport.js'
import { losesSession } from '#relay/transport/upstream/session/lost-session.js'

/** How servers say that they do not know a session. */
const lost = [
  'Session not found', 'Unknown session id \'abc\'; client should reinitialize',
  'MCP session is unknown on this API instance', 'Bad Request: No valid session ID provided',
  'Invalid session', 'Bad Request: Server not initialized', 'Session expired',
  'Your session has expired. Please try again.', 'Missing or invalid MCP session ID',
  'Mcp-Session-Id header is required', 'Mcp-Session-Id: abc was not found', 'Session "3f2a-77" not found',
  'Session with id 3f2a-77 does not exist', 'No transport found for sessionId',
  'Could not find session abc', 'This server doesn\'t know the session', 'Session is no longer active',
  'session_not_found', 'SessionNotFoundError', 'SESSION_EXPIRED', 'Invalid or expired session',
  'unrecognised session id', 'Session terminated', 'No such session', 'Not initialized',
  'Session isn\'t valid any more', 'Session timed out', 'Unauthorized: session invalid',
  'Please re-initialize', 'No active MCP session for this id', 'session id unknown',
  '{"error":"Session \\"abc\\" not found","code":7}', '{"code":"SESSION_NOT_FOUND","detail":"try again"}',
  '<html><title>Error</title><p>Unknown session.</p></html>', 'error: invalid session id: abc',
]

/** Refusals about something else. */
const others = [
  'Service overloaded', 'Too many sessions', 'Session limit exceeded: 3',
  'Invalid params: session is required as an argument',
  'Maximum number of sessions reached; no session was created', 'Sessions are not supported',
  'Invalid token', 'Session token expired', 'Your login session has expired', 'The session store is gone',
  'Internal error', 'Not found', 'Only one SSE stream is allowed per session',
  'Session abc: method not found', 'Session is busy', 'Not Acceptable', 'Tool not found in this session',
  'Unknown tool: session_start', 'Database not initialized', 'Invalid JSON', 'Unauthorized',
  'rate limit of this session exceeded, invalid request', 'missing field session', 'obsession not found',
  '',
]

const headers = (names: Record<string, string> = {}): HttpHeaders =>
  new Map(Object.entries(names).map(([name, value]) => [name, [value]]))
const statuses = [200, 400, 401, 409, 422, 500, 503]

for (const [texts, isLost] of [[lost, true], [others, false]] as const)
  t.test(`what speaks of ${isLost ? 'a lost session' : 'something else'} is told, with every status`, t => {
    for (const text of texts) for (const status of statuses) {
      const code = status === 200 ? -32001 : undefined
      t.equal(losesSession({ status, headers: headers(), code, text }), isLost, `${status}: ${text}`)
    }
    t.end()
  })

t.test('404 and 410 say it by themselves; other statuses never', t => {
  for (const text of [...lost, ...others]) {
    for (const status of [404, 410]) t.ok(losesSession({ status, headers: headers(), text }), `${status}`)
    for (const status of [402, 403, 405, 406, 413, 415, 418, 429, 501, 502, 504])
      t.notOk(losesSession({ status, headers: headers(), text }), `${status}: ${text}`)
  }
  t.end()
})

t.test('a challenge asks for credentials, and an error with 200 must be the server\'s', t => {
  const text = 'Session not found'
  t.notOk(losesSession({ status: 401, headers: headers({ 'www-authenticate': 'Bearer' }), text }))
  t.ok(losesSession({ status: 400, headers: headers({ 'www-authenticate': 'Bearer' }), text }))
  for (const [code, isLost] of [
    [-32600, true], [-32000, true], [-32001, true], [-32099, true], [404, true], [410, true], [-32602, false],
    [-32603, false], [-32100, false], [-31000, false], [1, false], [undefined, false],
  ] as const) t.equal(losesSession({ status: 200, headers: headers(), code, text }), isLost, String(code))
  t.end()
})

t.test('a long text is read in time', t => {
  for (const part of ['session ', 'no valid ', '"":"', 'n\'t ', 'aB'])
    t.notOk(losesSession({ status: 500, headers: headers(), text: part.repeat(100_000) }), part)
  t.end()
})
