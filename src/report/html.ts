import { readFile } from 'node:fs/promises'
import { createHash } from 'node:crypto'
import type { Summary } from './summary.js'

/** The page, with what it shows in it: it asks nothing of any network. */
export const reportPage = async (summary: Summary): Promise<string> => html(await assets(), dataScript(summary))

/** The page that asks for what it shows at `events`, beside it. */
export const livePage = async (): Promise<string> => html(await assets(), '', "connect-src 'self'; ")

interface Assets {
  readonly script: string
  readonly style: string
}

/** Beside the bundle that this is part of, and beside the module that it is without it. */
const assets = async (): Promise<Assets> => {
  const read = (name: string) => readFile(new URL(`../page/${name}`, import.meta.url), 'utf8')
  const [script, style] = await Promise.all([read('page.js'), read('page.css')])
  return { script: script.trim(), style: style.trim() }
}

/** No text can end the script: whatever begins like a tag, and what is a line end to some readers, is spelt otherwise in JSON. */
const dataScript = (summary: Summary): string => {
  const json = JSON.stringify(summary).replace(/[<>&\u2028\u2029]/g, character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
  return `<script type="application/json" id="summary">${json}</script>\n`
}

const html = ({ script, style }: Assets, data: string, sources = ''): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src '${hashOf(script)}'; style-src '${hashOf(style)}'; img-src data:; ${sources}base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>mcp-customs</title>
<link rel="icon" href="data:,">
<style>${style}</style>
</head>
<body>
<div id="page"></div>
<noscript>This page draws what it holds with a script of its own.</noscript>
${data}<script>${script}</script>
</body>
</html>
`

/** Of what stands in the page, for its policy: nothing else runs. */
const hashOf = (text: string): string => `sha256-${createHash('sha256').update(text).digest('base64')}`
