// What the files of src import of each other, types included. The drawing and the measures of the house are made of it.
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../src', import.meta.url))

const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).map(file => file.replaceAll('\\', '/'))
  .filter(file => /\.tsx?$/.test(file) && !file.includes('/generated/') && !file.startsWith('relay/judge/assembly/'))

const importsOf = (file, text) =>
  [...text.matchAll(/^(?:import|export)[^'"]*?from '([.#][^']+)\.js'|import\('([.#][^']+)\.js'\)/gm)].flatMap(([, now, lazy]) => {
    const path = now ?? lazy
    const stem = path.startsWith('#') ? path.slice(1) : relative(root, join(root, dirname(file), path)).replaceAll('\\', '/')
    const to = [`${stem}.ts`, `${stem}.tsx`].find(one => files.includes(one))
    return to === undefined ? [] : [{ to, isLazy: now === undefined }]
  })

/** Each file by its path below src. */
export const sources = files.map(file => {
  const text = readFileSync(join(root, file), 'utf8')
  return { file, text, imports: importsOf(file, text) }
})
