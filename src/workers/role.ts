import type { Role } from './calls.js'

/** By it a process knows that it is a worker; no server is to see it. */
export const roleVariable = 'MCP_CUSTOMS_WORKER'

/** @returns undefined in a process that nobody has forked to be a worker */
export const takeRole = (): Role | undefined => {
  const text = process.env[roleVariable]
  Reflect.deleteProperty(process.env, roleVariable)
  return text === undefined || process.send === undefined ? undefined : (JSON.parse(text) as Role)
}
