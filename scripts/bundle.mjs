// Bundles the command (dist/cli.js and dist/chunks), and what runs in threads of its own. A part of `npm run build`.
//
// A desktop client starts one relay per server, and Node takes longer to find and link many small files than to read a large one: all that
// `wrap` needs to start is one chunk. esbuild makes a chunk of what the same entries reach, so every entry is made to reach all of that.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const root = fileURLToPath(new URL('..', import.meta.url))
const common = {
  absWorkingDir: root, bundle: true, splitting: true, sourcemap: true, format: 'esm', platform: 'node', target: 'node20.19', packages: 'external',
  outdir: 'dist', chunkNames: 'chunks/[name]-[hash]', allowOverwrite: true, logLevel: 'warning', metafile: true,
}
const command = { ...common, entryPoints: { cli: 'src/cli.ts' } }

const { metafile: { inputs } } = await build({ ...command, write: false })

/** What is loaded before anything else, by file. */
const starting = new Set()
const visit = file => {
  if (starting.has(file) || inputs[file] === undefined) return
  starting.add(file)
  for (const { path, kind } of inputs[file].imports) if (kind === 'import-statement') visit(path)
}
for (const file of ['src/cli.ts', 'src/commands/wrap.ts']) visit(file)
const lazy = Object.values(inputs).flatMap(({ imports }) => imports.filter(({ kind }) => kind === 'dynamic-import').map(({ path }) => path))
const entries = new Set(['src/cli.ts', ...lazy].map(file => join(root, file)))

const oneChunk = {
  name: 'what wrap needs to start is one chunk',
  setup({ onLoad, onResolve }) {
    onResolve({ filter: /^what-starts$/ }, () => ({ path: 'what-starts', namespace: 'bundle' }))
    onLoad({ filter: /^what-starts$/, namespace: 'bundle' }, () => ({
      contents: [...starting].map(file => `import './${file}'`).join('\n'), resolveDir: root,
    }))
    onLoad({ filter: /\.ts$/ }, async ({ path }) => (entries.has(path) ? { contents: `${await readFile(path, 'utf8')}\nimport 'what-starts'\n`, loader: 'ts' } : undefined))
  },
}
await build({ ...command, plugins: [oneChunk] })
await build({ ...common, entryPoints: { 'chunks/worker': 'src/schema/thread/worker.ts', 'chunks/target': 'src/audit/target.ts' } })
