import { asError } from '#relay/base/errors.js'
import { killGroup } from './group.js'
import { type CommandLine, describeExit, spawnGroup, startFailure } from './spawn.js'

/** Longest output that is kept of each stream, in characters. */
const maxOutput = 100_000

/** What a command printed, or why it failed, in one line. */
type Ran = { readonly stdout: string } | { readonly failure: string }

/** Runs a command to its end, with nothing on its input. When late, it is killed with all that it started. */
export const run = async (commandLine: CommandLine, timeoutMs: number): Promise<Ran> => {
  const output = { stdout: '', stderr: '' }
  try {
    const child = spawnGroup(commandLine, 'pipe')
    const streams = [['stdout', child.stdout], ['stderr', child.stderr]] as const
    for (const [name, stream] of streams) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        output[name] = (output[name] + text).slice(0, maxOutput)
      })
    }
    // It may end without reading.
    child.stdin.on('error', () => undefined).end()
    return await new Promise<Ran>(resolve => {
      let isLate = false
      const timer = setTimeout(() => {
        isLate = true
        const late = () => resolve({ failure: `it did not end within ${timeoutMs / 1000} s` })
        if (child.pid === undefined) late()
        else void killGroup(child.pid).then(late)
      }, timeoutMs)
      child.once('error', error => resolve({ failure: startFailure(commandLine, error) }))
      child.once('close', (code, signal) => {
        if (isLate) return
        clearTimeout(timer)
        const lines = output.stderr.split('\n').filter(line => /^(?!npm (?:warn|notice)).*\S/i.test(line))
        const ended = describeExit({ code, signal }).replace(/^the server/, 'it')
        const failure = [ended, ...lines.slice(0, 2)].join('; ')
        resolve(code === 0 ? { stdout: output.stdout } : { failure })
      })
    })
  } catch (error) {
    return { failure: startFailure(commandLine, asError(error)) }
  }
}
