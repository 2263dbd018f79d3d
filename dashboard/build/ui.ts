// Bundles the pages of the dashboard into a folder: index.html, and the script, style and icon under names with their hash,
// so that a browser may keep them for ever.

import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { minify } from '@swc/core'
import { build } from 'esbuild'

const HERE = join(process.cwd(), 'dashboard/ui')

/** Names of the written files. */
export async function buildUi(folder: string, from: string = HERE): Promise<readonly string[]> {
  const { outputFiles } = await build({
    entryPoints: [join(from, 'main.tsx'), join(from, 'styles/app.css')],
    bundle: true,
    minify: true,
    // Texts have … and –, which take twice as many bytes when they are escaped.
    charset: 'utf8',
    write: false,
    outdir: folder,
    format: 'esm',
    target: ['chrome110', 'firefox115', 'safari16.4'],
    // In place of the compiler's own: `h('p', props, child)` is shorter than `jsx('p', { ...props, children })`.
    tsconfigRaw: { compilerOptions: { jsx: 'react', jsxFactory: 'h', jsxFragmentFactory: 'Fragment' } },
    inject: [join(process.cwd(), 'dashboard/build/jsx.ts')],
    define: { 'process.env.NODE_ENV': '"production"' },
    legalComments: 'none',
    logLevel: 'warning',
  })
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const bundled = await Promise.all(
    outputFiles.map(async ({ path, text }) =>
      path.endsWith('.css') ? { name: 'app.css', text } : { name: 'app.js', text: await smaller(text) },
    ),
  )
  const sources = [...bundled, { name: 'icon.svg', text: readFileSync(join(from, 'icon.svg'), 'utf8') }]
  let page = readFileSync(join(from, 'index.html'), 'utf8')
  const names = sources.map(({ name, text }) => {
    const hashed = name.replace('.', `-${createHash('sha256').update(text).digest('hex').slice(0, 10)}.`)
    writeFileSync(join(folder, hashed), text)
    page = page.replace(`"${name}"`, `"${hashed}"`)
    return hashed
  })
  writeFileSync(join(folder, 'index.html'), page)
  return ['index.html', ...names]
}

/** A second minifier finds 2 % more: constants and functions that are used once. */
async function smaller(script: string): Promise<string> {
  const { code } = await minify(script, {
    ecma: 2022,
    module: true,
    compress: { ecma: 2022, passes: 3 },
    mangle: { toplevel: true },
    format: { ecma: 2022, comments: false, asciiOnly: false },
  })
  return code
}
