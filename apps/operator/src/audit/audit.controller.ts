import { Controller, Get, Inject, Query, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Sql } from '#runtime';
import type { OpenArea } from '../area.js';
import { Follower } from '../follower.js';
import { asker } from '../http/asked-by.js';
import { Permit } from '../http/permit.js';
import { readInput } from '../http/read-input.js';
import { auditKeys } from './audit-keys.js';
import { headReader, readHeadFile } from './head.js';
import { auditPage, auditQuery, listAudit } from './list-audit.js';
import { AuditSealer } from './sealer.js';
import { type AuditReport, auditReport, verifyAudit } from './verify.js';

/** Body of POST /internal/v1/audit:verify. */
const verifyRequest = z.strictObject({
  /** A head that was kept elsewhere, as text; absent: the exported one. */
  head: z.string().min(1).max(4_096).optional(),
});

/** Reads the audit and checks its chain. */
class AuditDesk {
  private checking: Promise<AuditReport> | undefined;

  constructor(private readonly tools: { db: Sql; headFile?: string; readHead: ReturnType<typeof headReader> }) {}

  list = (query: z.infer<typeof auditQuery>, person: Parameters<typeof listAudit>[2]) => listAudit(this.tools.db, query, person);

  /** Whoever asks while a check runs gets what that one finds: it reads every row. */
  verify(): Promise<AuditReport> {
    this.checking ??= this.check(undefined).finally(() => {
      this.checking = undefined;
    });
    return this.checking;
  }

  check(head: string | undefined): Promise<AuditReport> {
    const { db, headFile, readHead } = this.tools;
    const exported = head ?? (headFile === undefined ? undefined : readHeadFile(headFile));
    return verifyAudit({ db, readHead, exported, headExpected: headFile !== undefined });
  }
}

@Controller('v1/audit')
class AuditController {
  constructor(@Inject(AuditDesk) private readonly desk: AuditDesk) {}

  @Get()
  @Permit('list', { summary: 'Who decided what, the newest first', query: auditQuery, response: auditPage })
  list(@Query() query: unknown, @Req() request: FastifyRequest) {
    return this.desk.list(readInput(auditQuery, query), asker(request));
  }

  @Get('verify')
  @Permit('list', { summary: 'Whether the audit was changed since it was written', response: auditReport })
  verify(): Promise<AuditReport> {
    return this.desk.verify();
  }
}

/** The audit: its chain, and its doors for people and for leadctl. */
export const auditArea: OpenArea = ({ db, env, logger }) => {
  const headFile = env.AUDIT_HEAD_FILE;
  const readHead = headReader(auditKeys.verifying(env.LD_SECRETS_DIR));
  const privateKey = auditKeys.signing(env.LD_SECRETS_DIR);
  const desk = new AuditDesk({ db, headFile, readHead });
  const sealer = new AuditSealer({ db, privateKey, readHead, headFile, logger });
  // Apart from the other steps: one of them may wait for a service that does not answer.
  const follower = new Follower({ everyMs: env.AUDIT_SEAL_MS, logger, steps: { seal: () => sealer.seal() } });
  return {
    controllers: [AuditController],
    providers: [{ provide: AuditDesk, useValue: desk }],
    serve: (server) =>
      server.route('/internal/v1/audit:verify', { callers: ['leadctl'], body: verifyRequest }, ({ head }) => desk.check(head)),
    start: () => follower.start(),
    stop: () => follower.stop(),
  };
};
