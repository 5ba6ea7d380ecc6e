import { randomBytes } from 'node:crypto'
import t from 'tap'
import { namesOf } from '../../../../../control/drivers/oci/names.ts'
import { claimBlock, claims, releaseBlock } from '../../../../../control/drivers/oci/net/block.ts'
import { networkText, overlaps, parseNetwork, type Network } from '../../../../../control/base/config/ipv4.ts'
import { isError } from '../../../../../shared/errors.ts'
import { skipFile } from '../../../../support/skip-file.ts'

skipFile(process.getuid?.() !== 0 && 'needs root')

/** A network for benchmarks (RFC 2544) that no other run has; four blocks of /24. */
const subnet = parseNetwork(`198.18.${(process.pid % 64) * 4}.0/22`) as Network
const instance = () => namesOf(randomBytes(4).toString('hex'))

t.test(
  'instances that claim at once get blocks of their own, each its own again, and busy when none is left',
  async t => {
    const all = Array.from({ length: 4 }, instance)
    t.teardown(async () => {
      for (const names of all) await releaseBlock(names)
    })
    const blocks = await Promise.all(all.map(names => claimBlock(subnet, names, `/data/${names.tag}`)))
    for (const [at, block] of blocks.entries()) {
      t.ok(overlaps(block, subnet), networkText(block))
      t.notOk(
        blocks.some((other, also) => also !== at && overlaps(block, other)),
        'nobody shares it',
      )
    }
    const [first, ...others] = all
    if (!first) throw new Error('no instance')
    t.same(await claimBlock(subnet, first, `/data/${first.tag}`), blocks[0], 'the same again after a restart')
    await t.rejects(claimBlock(subnet, instance(), '/data/late'), { code: 'busy' })
    await t.rejects(claimBlock(subnet, first, '/data/other'), { code: 'driver_failed' })
    await releaseBlock(first)
    const late = instance()
    all.push(late)
    t.same(await claimBlock(subnet, late, '/data/late'), blocks[0], 'what is given back can be claimed')
    const left = (await claims()).map(({ tag }) => tag)
    for (const { tag } of others) t.ok(left.includes(tag))
  },
)

t.test('of two that claim at once from subnets of other sizes neither gets what the other has', async t => {
  const around = parseNetwork('198.18.0.0/16') as Network
  // Of the blocks of /21 in the larger subnet the one that the smaller lies in is looked at first.
  const place = ((subnet.base - around.base) / 2 ** 11) % 32
  const large = namesOf(`${randomBytes(3).toString('hex')}${place.toString(16).padStart(2, '0')}`)
  const small = instance()
  t.teardown(async () => {
    for (const names of [large, small]) await releaseBlock(names)
  })
  for (let round = 0; round < 20; round++) {
    const [one, other] = await Promise.all([
      claimBlock(around, large, '/data/large'),
      // The larger block leaves nothing of the smaller subnet.
      claimBlock(subnet, small, '/data/small').catch(error => {
        if (!isError(error, 'busy')) throw error
      }),
    ])
    t.notOk(other && overlaps(one, other), `${networkText(one)} and ${other && networkText(other)}`)
    for (const names of [large, small]) await releaseBlock(names)
  }
})
