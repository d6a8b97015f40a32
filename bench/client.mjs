// Clients that cost as little as may be, the same for all that is measured: of an answer to a call they read the id and the length.
import { spawn } from 'node:child_process'
import { Pool } from 'undici'
import { eachLine } from './lines.mjs'

const hello = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'bench', version: '1' } }
/** How long a relay may say nothing at all while it is asked, in milliseconds. */
const patience = 60_000

/** What an answer of the server holds; of an event stream, the last event that is an answer. */
const resultOf = bytes => {
  const text = bytes.toString()
  const { result, error } = JSON.parse(text.startsWith('{') ? text : text.split('\n').findLast(line => /^data: ?.*"(result|error)"/.test(line)).slice(5))
  if (result === undefined) throw new Error(JSON.stringify(error))
  return result
}

class Client {
  #id = 0

  /** @return the result */
  async ask(method, params = {}) {
    const id = ++this.#id
    return resultOf(await this.post(id, JSON.stringify({ jsonrpc: '2.0', id, method, params })))
  }

  /** @return the length of the answer, in bytes */
  call(name) {
    return this.#length('tools/call', `{"name":"${name}","arguments":{}}`)
  }

  /** @return the length of the answer, in bytes */
  list() {
    return this.#length('tools/list', '{}')
  }

  async #length(method, params) {
    const id = ++this.#id
    return (await this.post(id, `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${params}}`)).length
  }

  async open() {
    await this.ask('initialize', hello)
    await this.post(undefined, '{"jsonrpc":"2.0","method":"notifications/initialized"}')
    return this
  }
}

class StdioClient extends Client {
  #waiting = new Map()
  #heard = 0

  constructor(child) {
    super()
    this.child = child
    eachLine(child.stdout, line => {
      this.#heard = performance.now()
      const id = Number(this.#idOf(line))
      this.#waiting.get(id)?.resolve(line)
      this.#waiting.delete(id)
    })
    const fail = error => {
      for (const { reject } of this.#waiting.values()) reject(error)
      this.#waiting.clear()
    }
    child.once('exit', code => fail(new Error(`it ended with ${code}`))).once('error', fail)
    child.stdin.on('error', () => {})
    setInterval(() => { if (this.#waiting.size > 0 && performance.now() - this.#heard > patience) fail(new Error('it does not answer')) }, 1000).unref()
  }

  /** At the start or at the end, where everybody puts it. */
  #idOf(line) {
    const [, id] = /^\{"jsonrpc":"2\.0","id":(\d+)/.exec(line.toString('latin1', 0, 50)) ?? /"id":(\d+)\}$/.exec(line.toString('latin1', Math.max(0, line.length - 50))) ?? []
    return id ?? JSON.parse(line).id
  }

  post(id, text) {
    if (this.#waiting.size === 0) this.#heard = performance.now()
    const answered = id === undefined ? undefined : new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }))
    this.child.stdin.write(`${text}\n`)
    return answered
  }

  close() {
    this.child.stdin.end()
  }
}

class HttpClient extends Client {
  #headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream', 'mcp-protocol-version': hello.protocolVersion }

  constructor(url, pool) {
    super()
    this.url = url
    this.pool = pool
  }

  post(_id, body) {
    return new Promise((resolve, reject) => {
      const chunks = []
      let status
      this.pool.dispatch({ path: this.url.pathname, method: 'POST', headers: this.#headers, body }, {
        onRequestStart: () => {},
        onResponseStart: (_, code, { 'mcp-session-id': session }) => {
          status = code
          if (session !== undefined) this.#headers['mcp-session-id'] = session
        },
        onResponseData: (_, chunk) => chunks.push(chunk),
        onResponseEnd: () => (status < 300 ? resolve(Buffer.concat(chunks)) : reject(new Error(`HTTP ${status} ${Buffer.concat(chunks)}`))),
        onResponseError: (_, error) => reject(error),
      })
    })
  }

  close() {
    return this.pool.destroy()
  }
}

/** A client of a process that it starts. */
export const overStdio = ([command, ...args], env = {}) =>
  new StdioClient(spawn(command, args, { stdio: ['pipe', 'pipe', 'ignore'], env: { ...process.env, ...env } }))

/** A client of what listens there; more sessions may share its connections. */
export const overHttp = (url, pool = new Pool(url.origin, { connections: 256, headersTimeout: patience, bodyTimeout: patience })) => new HttpClient(url, pool)
