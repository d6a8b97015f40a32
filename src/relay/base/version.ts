import { readFileSync } from 'node:fs'

const ourPackage = () =>
  JSON.parse(readFileSync(new URL(import.meta.resolve('#package.json')), 'utf8')) as {
    version: string
    peerDependencies: Readonly<Record<string, string>>
  }

let known: string | undefined

export const version = (): string => (known ??= ourPackage().version)

/** The optional packages of a scope, as `npm install` takes them. */
export const optionalPackages = (scope: string): readonly string[] =>
  Object.entries(ourPackage().peerDependencies).filter(([name]) => name.startsWith(`${scope}/`))
    .map(([name, range]) => `${name}@${range}`)
