import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { initializeOf, legacy, request } from '../../e2e/cases.js'

/** The command of a browser that logs in. */
export const browser =
  `${process.execPath} ${fileURLToPath(new URL('../../../test/fixtures/browser.mjs', import.meta.url))}`

export const initialize = initializeOf()

export const callOf = (tool: string, id = '3', meta = ''): string =>
  request(legacy, id, 'tools/call', `"name":"${tool}","arguments":{}${meta}`)

/** The content of a file; empty where it cannot be read. */
export const readIf = (file: string): string => {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

/**
 * What `ps` shows of a process and of those that it has started: arguments and environment.
 * @param hidesEnvironment by the arguments of a process: only those are wanted
 */
export const processesOf = (
  pid: number, hidesEnvironment: (line: string) => boolean = () => false,
): string => {
  const children = readIf(`/proc/${pid}/task/${pid}/children`).split(' ').filter(child => child !== '')
  const line = readIf(`/proc/${pid}/cmdline`)
  const own = hidesEnvironment(line) ? line : line + readIf(`/proc/${pid}/environ`)
  return [own, ...children.map(child => processesOf(Number(child), hidesEnvironment))].join('\n')
}
