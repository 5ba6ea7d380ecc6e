import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'

const root = join(import.meta.dirname, '../../..')

t.test('streams hashed side by side are those hashed alone, whatever comes of each', t => {
  const program = join(t.testdir({}), 'md5-lanes')
  const source = join(root, 'test/programs/md5-lanes.c')
  const flags = ['-std=gnu11', '-O2', '-Wall', '-Werror', `-I${join(root, 'daemon/native/include')}`]
  execFileSync('gcc', [...flags, '-o', program, source], { stdio: ['ignore', 'inherit', 'inherit'] })
  t.equal(execFileSync(program, { encoding: 'utf8' }), '0 differences\n')
  t.end()
})
