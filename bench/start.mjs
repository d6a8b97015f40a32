// Starts a server or a relay, and waits until it says where it listens.
import { spawn } from 'node:child_process'

/** @param stream by which it says its URL */
export const start = async (command, stream = 'stdout') => {
  const child = spawn(process.execPath, command, { stdio: ['ignore', 'pipe', 'pipe'] })
  let said = ''
  // What nobody reads would stop it when the pipe is full.
  child.stdout.resume()
  child.stderr.resume()
  const url = await new Promise((resolve, reject) => {
    child[stream].on('data', chunk => {
      said += chunk
      const found = /http:\/\/[^\s]+/.exec(said)?.[0]
      if (found !== undefined) resolve(found)
    })
    child.once('exit', () => reject(new Error(said)))
  })
  return { url: new URL(url), child }
}
