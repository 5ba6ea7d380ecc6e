/** With every program that is to trust the proxy. */
import './outbound-gvisor.test.ts'
