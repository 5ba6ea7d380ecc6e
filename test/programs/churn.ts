/** Makes and removes files in a directory for ever; says `ready` once it has begun. */
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const dir = process.argv[2] as string
for (let round = 0; ; round++) {
  for (let index = 0; index < 50; index++) writeFileSync(join(dir, `f${index}`), '')
  if (round === 0) process.stdout.write('ready\n')
  for (let index = 0; index < 50; index++) rmSync(join(dir, `f${index}`))
}
