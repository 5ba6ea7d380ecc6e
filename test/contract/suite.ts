/** The contract of the per-sandbox API as an existing client meets it, family by family. */
import type { Test } from 'tap'
import { filesystem } from './filesystem.ts'
import { find } from './find.ts'
import { mcp } from './mcp.ts'
import { multipart } from './multipart.ts'
import { network } from './network.ts'
import { processes } from './process.ts'
import { streams } from './streams.ts'
import { system } from './system.ts'
import { terminals } from './terminal.ts'
import { heldSandbox } from '../support/held.ts'
import { codegen, drives } from './tools.ts'
import { tunnels } from './tunnel.ts'
import { watch } from './watch.ts'
import type { Target } from './target.ts'

const families = {
  system,
  filesystem,
  find,
  watch,
  multipart,
  processes,
  streams,
  network,
  tunnels,
  terminals,
  codegen,
  drives,
  mcp,
} as const

/** Checks all of it against one target, and every answer against the document that it serves. */
export const suite = async (t: Test, target: Target): Promise<void> => {
  const problemOf = await heldSandbox(target.url, target.headers)
  for (const [name, check] of Object.entries(families)) await t.test(name, t => check(t, { ...target, problemOf }))
}
