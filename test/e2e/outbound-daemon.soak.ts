/** With every change of its network that a hijacked daemon can make. */
import './outbound-daemon.test.ts'
