/**
 * Makes what `npm pack` packs:
 *
 *     dist/                     the sources compiled, with their types
 *     dist/hutch.cjs index.cjs  the command and the library's entry, which an older Node can read
 *     dist/runtime.tar.zst      the runtime bundle and the image busybox; dist/runtime.json says which
 *     THIRD-PARTY-NOTICES.txt   whose work is in it, under which licences
 */
import { chmodSync, cpSync, globSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import { filesOfPages } from '../../control/server/web/html/assets.ts'
import { packRuntime } from './archive.ts'
import { checkGlibc } from './glibc.ts'
import { writeNotices } from './notices.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const dist = join(root, 'dist')

const compile = async (): Promise<void> => {
  await execa(process.execPath, ['node_modules/.bin/tsc', '-p', 'images/package/tsconfig.json'], { cwd: root })
}

/** Programs of ours that the host runs; they lie beside the modules that call them, as in the sources. */
const copyHelpers = (): string[] => {
  const helpers = globSync('control/**/build/*', { cwd: root })
  for (const helper of helpers) {
    mkdirSync(dirname(join(dist, helper)), { recursive: true })
    cpSync(join(root, helper), join(dist, helper))
  }
  return helpers.map(helper => join(dist, helper))
}

/** What the host's pages load, in one directory beside the module that reads it. */
const copyPages = (): void => {
  const to = join(dist, 'control/server/web/html/files')
  mkdirSync(to, { recursive: true })
  for (const [name, file] of filesOfPages(root)) cpSync(file, join(to, name))
}

/**
 * The library's entry for `import` and `require` alike: CommonJS, because the imports of an ES module are all read before
 * its first line runs, and an older Node could not read them. Each name is written out so that Node finds it for `import`.
 */
const writeEntries = (): void => {
  for (const name of ['hutch.cjs', 'check-platform.cjs']) cpSync(join(root, 'images/package', name), join(dist, name))
  chmodSync(join(dist, 'hutch.cjs'), 0o755)
  const names = Object.keys(createRequire(import.meta.url)(join(dist, 'control/index.js')) as object)
  const lines = [
    `'use strict'`,
    `require('./check-platform.cjs')`,
    `const hutch = require('./control/index.js')`,
    ...names.map(name => `exports.${name} = hutch.${name}`),
  ]
  writeFileSync(join(dist, 'index.cjs'), `${lines.join('\n')}\n`)
}

if (process.arch !== 'x64') throw new Error(`the package is for x64; this machine is ${process.arch}`)
console.log('package: compiling')
rmSync(dist, { recursive: true, force: true })
await compile()
const helpers = copyHelpers()
copyPages()
writeEntries()
await checkGlibc(root, helpers)
await packRuntime(root, dist)
await writeNotices(root, join(root, 'THIRD-PARTY-NOTICES.txt'))
console.log('package: dist/ is made')
