import { stat } from 'node:fs/promises'
import { isAbsolute, relative, resolve, sep } from 'node:path'
import type { ServerConfiguration } from '../config/configuration.js'

/**
 * The file that stands for a server in a code scan, as a relative URI: the configuration that declares it, or else the script
 * that its command names, or else (for what lies in no file of the working directory) its name.
 */
export const placeOf = async (server: ServerConfiguration, configuration: string | undefined): Promise<string> => {
  const words = 'command' in server ? server.command.map(word => resolve(server.cwd ?? '.', word)) : []
  for (const file of configuration === undefined ? words : [resolve(configuration), ...words]) {
    const uri = await localUri(file)
    if (uri !== undefined) return uri
  }
  return encodeURIComponent(server.name)
}

/** Of a file of the working directory. */
export const localUri = async (file: string): Promise<string | undefined> => {
  const local = relative(process.cwd(), resolve(file))
  const within = local !== '' && !local.startsWith('..') && !isAbsolute(local)
  return within && (await isFile(file)) ? local.split(sep).map(encodeURIComponent).join('/') : undefined
}

const isFile = (path: string): Promise<boolean> => stat(path).then(found => found.isFile(), () => false)
