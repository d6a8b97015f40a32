import { once } from 'node:events'
import { lstatSync, unlinkSync, type Stats } from 'node:fs'
import type { Server } from 'node:http'
import { connect } from 'node:net'
import { CustomsError } from '../../errors.js'

/** A socket in the file system: for programs of this machine, and of them for those who may write to the file. */
export interface SocketAddress {
  readonly socket: string
  /** The permissions of the file. */
  readonly mode: number
}

/** What the system has room for, in bytes: Node would cut the rest off, and listen somewhere else. */
const longestPath = process.platform === 'darwin' ? 103 : 107

/** A file that was left behind by a listener that is no more is replaced; one that somebody listens at, or that is none, is not. */
export const listenAtSocket = async (server: Server, address: SocketAddress): Promise<void> => {
  try {
    await bind(server, address)
  } catch (error) {
    if (!hasCode(error, 'EADDRINUSE') || !(await isLeftBehind(address.socket))) throw error
    unlinkSync(address.socket)
    await bind(server, address)
  }
}

/** Node takes the file away when it closes the listener. */
const bind = async (server: Server, { socket, mode }: SocketAddress): Promise<void> => {
  if (Buffer.byteLength(socket) > longestPath) throw new CustomsError('CANNOT_START', `cannot listen on unix:${socket}: the path of a socket has at most ${longestPath} bytes`)
  // The file is made here and now, and is never there with other permissions than these.
  const before = process.umask(0o777 & ~mode)
  try {
    // Where processes share an address: this one is nobody else's.
    server.listen({ path: socket, exclusive: true })
  } finally {
    process.umask(before)
  }
  await once(server, 'listening')
}

const isLeftBehind = async (path: string): Promise<boolean> => {
  const before = socketAt(path)
  if (before === undefined) return false
  const client = connect({ path })
  const refused = await once(client, 'connect').then(() => false, (error: unknown) => hasCode(error, 'ECONNREFUSED'))
  client.destroy()
  // Somebody else may have replaced it meanwhile.
  return refused && socketAt(path)?.ino === before.ino
}

const socketAt = (path: string): Stats | undefined => {
  const found = lstatSync(path, { throwIfNoEntry: false })
  return found?.isSocket() === true ? found : undefined
}

const hasCode = (error: unknown, code: string): boolean => error instanceof Error && 'code' in error && error.code === code
