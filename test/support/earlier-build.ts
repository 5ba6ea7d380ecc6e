/** A checkout of an earlier commit of this repository, built and run as its own time did, that then becomes today's in place. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'

const here = fileURLToPath(new URL('../..', import.meta.url))
const runtime = join(here, '.runtime')

/** Whether this clone has that commit: one without its history has not. */
export const hasCommit = (commit: string): boolean => {
  try {
    execFileSync('git', ['-C', here, 'cat-file', '-e', `${commit}^{commit}`], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** Compiles what is in C and assembles the runtime bundle, with the checkout's own scripts. */
const build = (dir: string): void => {
  for (const script of ['native.sh', 'bundle.sh'])
    execFileSync('bash', [`images/setup/${script}`], { cwd: dir, stdio: ['ignore', 'ignore', 'pipe'] })
}

export interface Checkout {
  readonly dir: string
  /** What starts a program in it. */
  readonly within: readonly string[]
  /** It becomes what this checkout is now, uncommitted files too, as `git pull` and `make` do. */
  update(): void
}

/** A directory with the sources of a commit. Packages and Node are this checkout's: those of the commits that tests name are of the same versions. */
export const earlierSources = (t: Test, commit: string): string => {
  // On the disk of this checkout, so that what is as large as a bundle need not fit into memory.
  const dir = realpathSync(mkdtempSync(join(runtime, 'earlier-build-')))
  t.teardown(() => rmSync(dir, { recursive: true, force: true }))
  execFileSync('bash', ['-c', `git -C "$1" archive ${commit} | tar -x -C "$2"`, '-', here, dir])
  mkdirSync(join(dir, '.runtime'))
  for (const shared of ['node', 'images']) symlinkSync(join(runtime, shared), join(dir, '.runtime', shared))
  symlinkSync(join(here, 'node_modules'), join(dir, 'node_modules'))
  return dir
}

export const earlierCheckout = (t: Test, commit: string): Checkout => {
  const dir = earlierSources(t, commit)
  build(dir)
  return {
    dir,
    within: ['env', '--chdir', dir],
    update() {
      const tracked = execFileSync('git', ['-C', here, 'ls-files', '-z', '--cached', '--others', '--exclude-standard'])
      const present = tracked
        .toString()
        .split('\0')
        .filter(file => file && existsSync(join(here, file)))
      for (const top of ['control', 'daemon', 'shared', 'images']) rmSync(join(dir, top), { recursive: true })
      execFileSync('bash', ['-c', 'tar -c --null --files-from=- | tar -x -C "$1"', '-', dir], {
        cwd: here,
        input: present.join('\0'),
      })
      build(dir)
    },
  }
}
