/**
 * Makes `.runtime/bundle`, a link to `.runtime/bundles/<digest>`: a running sandbox keeps the bundle it was started
 * with while new ones get the new one. `--inputs STAMP` is stored beside it for images/setup/bundle.sh. With
 * HUTCH_BUNDLE_PLAIN=1 the daemon starts more slowly and relies on less (`daemon/node-internals/README.md`).
 */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { execa } from 'execa'
import { writeLatest } from '../../control/core/runtime/latest.ts'
import { pruneBundles } from '../../control/core/runtime/prune.ts'
import { assemble } from './assemble.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const runtime = join(root, '.runtime')
const { values } = parseArgs({ options: { inputs: { type: 'string', default: '' } } })

/** The last commit that touched what goes into the bundle; a source tree without history has none. */
const lastCommit = async (): Promise<{ gitCommit: string; buildTime: string }> => {
  const parts = ['daemon', 'shared', 'images/runtime', 'package-lock.json']
  const { stdout = '' } = await execa('git', ['log', '-1', '--format=%H %cI', '--', ...parts], {
    cwd: root,
    reject: false,
  })
  const [gitCommit = '', buildTime = ''] = stdout.split(' ')
  return { gitCommit: gitCommit || 'unknown', buildTime: buildTime || 'unknown' }
}

/** Only root can see what other processes use. */
const prune = (dir: string): void => {
  if (process.geteuid?.() !== 0) return
  try {
    const gone = pruneBundles(dir, Date.now())
    if (gone.length > 0) console.log(`setup: removed ${gone.length} old bundles that nobody uses`)
  } catch (error) {
    console.error(`setup: old bundles stay in ${dir}: ${error instanceof Error ? error.message : error}`)
  }
}

process.umask(0o022)
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
mkdirSync(join(runtime, 'bundles'), { recursive: true })
const work = mkdtempSync(join(runtime, 'bundles/.new-'))
try {
  const digest = await assemble(
    root,
    work,
    { version, ...(await lastCommit()) },
    { plain: process.env['HUTCH_BUNDLE_PLAIN'] === '1' },
  )
  writeFileSync(join(work, '.inputs'), `${values.inputs}\n`)
  chmodSync(work, 0o755)
  const place = join(runtime, 'bundles', digest)
  if (existsSync(place)) writeFileSync(join(place, '.inputs'), `${values.inputs}\n`)
  else renameSync(work, place)
  const link = join(runtime, `.bundle-${process.pid}`)
  for (const [target, name] of [
    [digest, 'bundles/current'],
    [join('bundles', digest), 'bundle'],
  ] as const) {
    symlinkSync(target, link)
    renameSync(link, join(runtime, name))
  }
  writeLatest(join(runtime, 'bundles'), digest)
  console.log(`setup: runtime bundle ${digest}`)
  prune(join(runtime, 'bundles'))
} finally {
  rmSync(work, { recursive: true, force: true })
}
