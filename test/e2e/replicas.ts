import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http'
import { createRequire } from 'node:module'
import { connect } from 'node:net'
import { join } from 'node:path'
import { freePort, listen } from '#test/kit/http.js'
import { cli, scratch, type Test } from './bridge.js'
import { start, urlOf, type Started } from './harness.js'

const has = (program: string): boolean => {
  try {
    execFileSync(program, ['-v'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** The engine's program; undefined where none is installed. */
export const engine = ['valkey-server', 'redis-server'].find(has)

/** Resolves when somebody listens. */
export const listens = async (port: number): Promise<void> => {
  for (;;) {
    const isOpen = await new Promise<boolean>(resolve => {
      const socket = connect(port, '127.0.0.1', () => socket.end(() => resolve(true)))
      socket.on('error', () => setTimeout(() => resolve(false), 20))
    })
    if (isOpen) return
  }
}

export interface Engine {
  readonly url: string
  readonly port: number
  /** Ends it, and what it held is gone. */
  stop(): Promise<void>
  start(): Promise<void>
  /** As SIGSTOP: connections stay, and nothing answers. */
  pause(isPaused: boolean): void
}

/** Valkey or Redis, without a file. */
export const startEngine = async (t: Test, program = engine ?? 'redis-server'): Promise<Engine> => {
  const port = await freePort()
  let running: Started | undefined
  const begin = async (): Promise<void> => {
    running = start(t, program, ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'])
    await listens(port)
  }
  await begin()
  return {
    url: `redis://127.0.0.1:${port}`, port,
    start: begin,
    stop: async () => {
      running?.child.kill('SIGKILL')
      await running?.exit
    },
    pause: isPaused => void running?.child.kill(isPaused ? 'SIGSTOP' : 'SIGCONT'),
  }
}

/** The official server that has everything, over Streamable HTTP. */
export const startEverything = async (t: Test): Promise<string> => {
  const port = await freePort()
  const { resolve } = createRequire(import.meta.url)
  const script = resolve('@modelcontextprotocol/server-everything/dist/index.js')
  start(t, process.execPath, [script, 'streamableHttp'], { PORT: String(port) })
  await listens(port)
  return `http://127.0.0.1:${port}/mcp`
}

export interface Replica {
  readonly url: string
  readonly relay: Started
  readonly audit: string
}

/** @param config what it serves, as JSON; `listen` is added */
export const startReplica = async (
  t: Test, folder: string, config: object, port = 0, words: readonly string[] = [], environment = {},
): Promise<Replica> => {
  mkdirSync(folder, { recursive: true })
  const [file, audit] = [join(folder, 'customs.json'), join(folder, 'audit.ndjson')]
  writeFileSync(file, JSON.stringify(config))
  const relay = start(t, process.execPath, [
    cli, 'serve', '--config', file, '--listen', `127.0.0.1:${port}`, '--audit', audit, ...words,
  ], environment)
  const url = await urlOf(relay)
  return { url, relay, audit }
}

export interface Balancer {
  readonly url: string
  /** The replicas that get requests, each in its turn. */
  readonly to: string[]
  /** How many requests each got. */
  readonly counts: Map<string, number>
}

/** Each request goes to the next replica, whatever its session: nobody is sticky. */
export const balance = async (t: Test, to: string[]): Promise<Balancer> => {
  const counts = new Map<string, number>()
  let turn = 0
  const pass = (asked: IncomingMessage, answer: ServerResponse): void => {
    const target = to[turn++ % to.length] ?? ''
    counts.set(target, (counts.get(target) ?? 0) + 1)
    const { method, headers, url = '' } = asked
    const onward = request(new URL(url, target), { method, headers }, response => {
      answer.writeHead(response.statusCode ?? 502, response.headers)
      answer.flushHeaders()
      response.pipe(answer)
      response.on('error', () => answer.destroy())
      response.on('aborted', () => answer.destroy())
    })
    onward.on('error', () => (answer.headersSent ? answer.destroy() : answer.writeHead(502).end()))
    answer.on('close', () => onward.destroy())
    asked.pipe(onward)
  }
  return { url: await listen(t, createServer(pass)), to, counts }
}

/** Whether nginx is installed. */
export const hasNginx = has('nginx')

/** nginx with the repository's file, in front of replicas named `relay-1` and so on. @returns its URL */
export const startNginx = async (t: Test, replicas: readonly Replica[]): Promise<string> => {
  const [folder, port] = [scratch(t), await freePort()]
  const places = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map(name => `${name}_temp_path ${folder}/${name};`).join(' ')
  const hostOf = (index: string) => new URL(replicas[Number(index) - 1]?.url ?? '').host
  const ours = `daemon off; master_process off; pid ${folder}/pid; error_log ${folder}/log;`
  const text = readFileSync('docker/replicas/nginx.conf', 'utf8')
    .replace('worker_processes auto;', ours)
    .replace('http {', `http { ${places}`)
    .replace('listen 7400', `listen 127.0.0.1:${port}`)
    .replaceAll(/server relay-(\d):7400/g, (_, index: string) => `server ${hostOf(index)}`)
  writeFileSync(join(folder, 'nginx.conf'), text)
  start(t, 'nginx', ['-p', folder, '-c', join(folder, 'nginx.conf')])
  await listens(port)
  return `http://127.0.0.1:${port}`
}

/** Replicas of one configuration behind a balancer. */
export const startReplicas = async (t: Test, count: number, config: object) => {
  const folder = scratch(t)
  const replicas = await Promise.all(Array.from({ length: count }, (_, index) => startReplica(
    t, join(folder, String(index)), { ...config, sessions: { replica: `relay-${index + 1}` } },
  )))
  const balancer = await balance(t, replicas.map(({ url }) => url))
  return { folder, replicas, balancer, audits: replicas.map(({ audit }) => audit) }
}
