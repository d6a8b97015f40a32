import type { Target } from './flags.js'
import { baseName, subjectOf } from './subject.js'

/**
 * What the audit log, metrics and messages call a server that nobody named: its host, package, image, script or program. Plain enough
 * for a file's name and a metric's label; where the words tell nothing, `server`.
 */
export const nameOf = ({ url, command = [] }: Target): string => plain(url === undefined ? nameIn(subjectOf(command).word) : hostOf(url))

const plain = (name: string): string => name.replace(/[^A-Za-z0-9_.-]+/g, '-').replace(/^[-_.]+/, '').slice(0, 64).replace(/[-_.]+$/, '') || 'server'

const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).hostname : '')

/** Of files and folders that every project has. */
const telling = (name: string): boolean => !/^(?:index|main|__main__|bin|dist|build|out|lib|src|start|run|\.{0,2})$/i.test(name)

/** Of a server like any other: what it belongs to is said as well. */
const vague = /^(?:server|mcp|mcp[-_]server|server[-_]mcp|cli|app)$/i

const nameIn = (word: string): string => {
  const path = word.replaceAll('\\', '/')
  const installed = /.*(?:^|\/)node_modules\/(?!\.bin\/)((?:@[^/]+\/)?[^/]+)/s.exec(path)?.[1]
  const [name = baseName(path), owner] = [baseName(installed ?? path), ...(installed ?? path).split('/').slice(0, -1).reverse()].filter(telling)
  return vague.test(name) && owner !== undefined ? `${owner.replace(/^@/, '')}-${name}` : name
}
