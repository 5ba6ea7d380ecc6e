/** A program of one Go file, built here where Go is there. */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { find, freePort, scratch, start, untilListens } from './child.ts'
import type { Bench } from './measure.ts'

export const noGo = 'needs Go: apt-get install golang-go'

/** Where Debian's package and where Go's own archive put it. */
const compiler = (): string | undefined => find('go') ?? ['/usr/local/go/bin/go'].find(path => existsSync(path))

/** Kept between runs: Go's own library, compiled anew for each program, took a minute of a busy box. Go allows several builds in it. */
const cache = fileURLToPath(new URL('../../.runtime/go-cache', import.meta.url))

export interface GoProgram {
  readonly port: number
  readonly pid: number
}

/** Runs `source` with a free port of loopback and `args` once it listens, on one processor as the others are; undefined without Go. */
export const goProgram = async (bench: Bench, source: URL, ...args: string[]): Promise<GoProgram | undefined> => {
  const go = compiler()
  if (!go) return undefined
  const dir = scratch(bench, 'go')
  const binary = join(dir, 'program')
  const env = {
    ...process.env,
    GOCACHE: cache,
    GOPATH: join(dir, 'path'),
    GOFLAGS: '',
    GOTOOLCHAIN: 'local',
    CGO_ENABLED: '0',
  }
  await promisify(execFile)(go, ['build', '-o', binary, source.pathname], { env })
  const port = await freePort()
  const child = start(bench, binary, [String(port), ...args], { env: { GOMAXPROCS: '1' } })
  await untilListens(child, port)
  return { port, pid: child.pid as number }
}
