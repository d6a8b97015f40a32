// Starts a server or a relay that listens, and waits until it does.
import { spawn } from 'node:child_process'
import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { end } from './processes.mjs'

/** A child, and what it has said last. What nobody reads would stop it when the pipe is full. */
const spawned = ([command, ...args], env) => {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...env } })
  const said = { stdout: '', stderr: '' }
  for (const stream of ['stdout', 'stderr']) child[stream].on('data', chunk => (said[stream] = (said[stream] + chunk).slice(-2000)))
  return { child, said }
}

/** One written in JavaScript that says its URL. @param stream by which it says so */
export const start = async (args, stream = 'stdout', env = {}) => {
  const { child, said } = spawned([process.execPath, ...args], env)
  const url = await new Promise((resolve, reject) => {
    child[stream].on('data', () => {
      const found = /http:\/\/[^\s]+(?=\s)/.exec(said[stream])?.[0]
      if (found !== undefined) resolve(found)
    })
    child.once('exit', () => reject(new Error(said.stdout + said.stderr)))
  })
  return { url: new URL(url), child }
}

const accepts = ({ hostname, port }) =>
  new Promise(resolve => {
    const socket = connect(port, hostname, () => { socket.destroy(); resolve(true) }).on('error', () => resolve(false))
  })

/** One of another kind, that was told where to listen. */
export const startAt = async (url, command, env = {}) => {
  const { child, said } = spawned(command, env)
  let failed
  const fail = error => (failed ??= error)
  child.once('error', fail).once('exit', () => fail(new Error(said.stderr + said.stdout)))
  for (const until = performance.now() + 20_000; !(await accepts(url)); await pause(1)) {
    if (performance.now() > until) fail(new Error(`nobody listens at ${url.host}`))
    if (failed) {
      await end(child)
      throw failed
    }
  }
  return { url, child }
}
