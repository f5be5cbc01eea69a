// Generated from docs/openapi/operator.json by `npm run generate`. Do not edit.
export interface components {
  schemas: {
    /** Problem */
    Problem: {
      /** @description urn:lead-delivery:problem:<slug> */
      type: string;
      title: string;
      status: number;
      detail?: string;
      /** @description Every wrong field with what to do about it. Values are never repeated. */
      errors?: {
        field: string;
        problem: string;
        fix: string;
      }[];
    } & {
      [key: string]: unknown;
    };
    MeMeResponse: {
      subject: string;
      name: string;
      roles: ('viewer' | 'operator' | 'approver' | 'admin')[];
      permissions: ('list' | 'reveal' | 'replay_request' | 'replay_approve' | 'delete' | 'configure')[];
      organizations: '*' | string[];
      /** @description One person alone may have this many items approved, under way or within an hour. */
      single_operator_policy?: {
        max: number;
      };
      /** @description What the person may not do, and why. */
      refused: {
        [key: string]: string;
      };
    };
    MeConfigResponse: {
      /** @description Absent: tokens are pasted. */
      oidc?: {
        issuer: string;
        client_id: string;
        /** @description Absent: the issuer does not answer now. */
        authorization_endpoint?: string;
        token_endpoint?: string;
      };
    };
    AuditListResponse: {
      items: {
        audit_id: string;
        /** @description Place in the chain; null until it is sealed. */
        seq: number | null;
        /** Format: date-time */
        at: string;
        caller: string;
        person: string;
        action: string;
        organization: string | null;
        subject: {
          [key: string]: unknown;
        };
      }[];
      next?: string;
    };
    AuditVerifyResponse: {
      ok: boolean;
      /** @description Rows of the chain. */
      checked: number;
      /** @description Rows that are not in the chain yet; those of the last second are nothing to worry about. */
      unsealed: number;
      /** @description End of the chain as it is in the database. */
      head: {
        seq: number;
        hash: string;
        sealed_at: string;
      } | null;
      /** @description The signed head that it was compared with. */
      exported: {
        seq: number;
        hash: string;
        sealed_at: string;
      } | null;
      /** @description At most 100. */
      findings: {
        /** @enum {string} */
        kind: 'edit' | 'gap' | 'cut_tail' | 'rewritten' | 'unsealed' | 'head';
        seq?: number;
        audit_id?: string;
        detail: string;
      }[];
    };
    DestinationsListResponse: {
      items: {
        /** @description Whose it is: crm-writer for a CRM, notifier for a channel. */
        service: string;
        destination: string;
        /** @description False: the site file does not name it any more. */
        configured: boolean;
        /**
         * @description blocked: nothing is sent, because of `reason`. ramping: some, more each second. unknown: its service does not answer.
         * @enum {string}
         */
        mode: 'flowing' | 'ramping' | 'probing' | 'blocked' | 'unknown';
        /** @enum {string} */
        reason?: 'failing' | 'throttled' | 'auth' | 'hold';
        /** @description A person holds it until a person releases it. */
        hold?: {
          by: string;
          reason: string;
          /** Format: date-time */
          since: string;
        };
        /**
         * Format: date-time
         * @description No probe before then.
         */
        open_until?: string;
        /** @description Rests in a row; 0 while it is not blocked. */
        cool_downs: number;
        /** @enum {string} */
        breaker: 'closed' | 'half_open' | 'open' | 'unknown';
        /** @description How long it is left alone after failures. */
        breaker_rest?: {
          first_ms: number;
          longest_ms: number;
        };
        quota?: {
          requests: number;
          per_ms: number;
          /** @description Requests that may be made at once, so that no span of `per_ms` sees more than `requests`. */
          limit: number;
          /** @description Of `limit`, now. */
          left: number;
        };
        /** @description Calls under way at most, per process. */
        concurrency?: number;
        /** @description Share of calls that may be retries while it fails. */
        retry_budget?: number;
        /** @description A part that is absent waits for what is left of the whole. */
        timeouts?: {
          connect_ms: number;
          /** @description From a connection until the network has all of the request. */
          write_ms?: number;
          /** @description From there to the first byte of the answer. */
          first_byte_ms?: number;
          /** @description From there to its last byte. */
          read_ms?: number;
          /** @description Of a whole call; a part never waits longer than is left of it. */
          total_ms: number;
          /** @description The same of a lookup. */
          lookup_ms: number;
        };
        /** @description Of the calls of the last 24 hours, in milliseconds to within 5 %, some seconds late. What was not measured is absent. */
        latency: {
          /** @description Until there was a connection, where one had to be made. */
          connect?: {
            p50: number;
            p95: number;
            p99: number;
            count: number;
          };
          /** @description From the request to the answer’s headers. */
          first_byte?: {
            p50: number;
            p95: number;
            p99: number;
            count: number;
          };
          total?: {
            p50: number;
            p95: number;
            p99: number;
            count: number;
          };
          /** @description Of whole calls, and of their parts where those were measured; the oldest hour first. */
          by_hour: {
            p50: number;
            p95: number;
            p99: number;
            count: number;
            /** Format: date-time */
            at: string;
            connect?: {
              p50: number;
              p95: number;
              p99: number;
              count: number;
            };
            first_byte?: {
              p50: number;
              p95: number;
              p99: number;
              count: number;
            };
          }[];
        };
        backlog: {
          waiting: number;
          held: number;
          uncertain: number;
          /** @description Leads on the topic that no process has taken up yet, test leads included: while nothing is sent there none is. Absent: of a channel, or nobody answers. */
          unclaimed?: {
            count?: number;
            /** @description `count` is an upper bound: not every record was looked at yet. */
            at_most?: boolean;
            /**
             * Format: date-time
             * @description When the oldest of them was submitted.
             */
            oldest_at?: string;
            /**
             * @description Why there is no `count`: Kafka does not answer or refuses, or the group has no committed position.
             * @enum {string}
             */
            unknown?: 'kafka_away' | 'kafka_refused' | 'no_position';
          };
          /**
           * Format: date-time
           * @description When the oldest that waits, is held or is unclaimed was submitted.
           */
          oldest_at?: string;
        };
        /** @description While a backlog goes down: of what waits, is held and is unclaimed. Absent also while the last is not known. */
        drain?: {
          left: number;
          total: number;
          rate_per_s: number;
          eta_s: number | null;
        };
        /** @description Whether a test lead can be sent there. */
        test: {
          possible: boolean;
          why_not?: string;
        };
        /**
         * Format: date-time
         * @description By the clock of its service’s database.
         */
        as_of?: string;
      }[];
      /** @description Services that do not answer now. */
      unavailable: string[];
    };
    DestinationsHoldRequest: {
      /** @description For colleagues; no addresses or numbers of leads: it is kept for good. */
      reason: string;
      /** @description When the hold began that you have seen, null where you saw none; refused where it is another by now. Absent: not looked at. */
      since?: string | null;
      /**
       * @description Where a destination and a channel have the same name; default: the destination.
       * @enum {string}
       */
      service?: 'crm-writer' | 'notifier';
    };
    DestinationsHoldResponse: {
      /** @constant */
      applied: true;
    };
    DestinationsReleaseRequest: {
      /** @description For colleagues; no addresses or numbers of leads: it is kept for good. */
      reason: string;
      /** @description When the hold began that you have seen, null where you saw none; refused where it is another by now. Absent: not looked at. */
      since?: string | null;
      /**
       * @description Where a destination and a channel have the same name; default: the destination.
       * @enum {string}
       */
      service?: 'crm-writer' | 'notifier';
    };
    DestinationsReleaseResponse: {
      /** @constant */
      applied: true;
    };
    DestinationsTestRequest: Record<string, never>;
    DestinationsTestResponse: {
      /** Format: uuid */
      event_id: string;
      organization: string;
    };
    LettersListResponse: {
      items: (
        | {
            dead_letter_id: string;
            state: string;
            closed_as: string | null;
            closed_at: string | null;
            service: string;
            event_id: string | null;
            destination: string | null;
            lead_ref: string | null;
            organization: string | null;
            source: string | null;
            form: string | null;
            campaign: string | null;
            submission_ref: string | null;
            test: boolean;
            operation_key: string | null;
            operation_kind: string | null;
            endpoint: string | null;
            class: string;
            code: string | null;
            status: number | null;
            schema_id: number | null;
            reference: string | null;
            attempts: number;
            provider_request_id: string | null;
            trace_id: string | null;
            submitted_at: string | null;
            first_seen_at: string | null;
            deadline_at: string | null;
            /** Format: date-time */
            dead_at: string;
            /** Format: date-time */
            received_at: string;
            owner: string;
            assignee: string | null;
            disposition: string;
            /** Format: date-time */
            respond_by: string;
            /** Format: date-time */
            delete_after: string;
            found_by: string;
            group_key: string;
            /** @description Since the lead was submitted, as far as that is known. */
            age_ms: number;
            /** @description Until it is deleted, once it is closed. */
            retention_ms_left: number;
            note_count: number;
            /** @description What to do next. */
            next_action?: string;
            /** @description The page that says how. */
            runbook?: string;
          }
        | {
            /** @description Event id and destination: there is no dead letter of it. */
            dead_letter_id: string;
            /** @enum {string} */
            state: 'held' | 'uncertain';
            service: string;
            event_id: string;
            destination: string;
            lead_ref: string;
            organization: string | null;
            source: string | null;
            form: string | null;
            campaign: string | null;
            test: boolean;
            /** @description Why nothing is sent: `hold` by a person, or the trouble of the destination; of what is uncertain `unverified_write`. */
            class: string;
            /** @description What the last call was answered. */
            code: string | null;
            status: null;
            schema_id: number | null;
            attempts: number;
            submitted_at: string;
            deadline_at: string;
            next_attempt_at: string | null;
            /** @description Its deadline. */
            respond_by: string;
            owner: string;
            assignee: null;
            /** @constant */
            disposition: 'wait';
            hold: {
              by: string;
              reason: string;
              at: string;
            } | null;
            /** @description No probe before then. */
            open_until: string | null;
            age_ms: number;
            /** @constant */
            note_count: 0;
            next_action: string;
            runbook: string;
          }
      )[];
      /** @description Absent on the last page. */
      next?: string;
      /** @description Only of `held`: every destination that nothing is sent to, with what lies on its topic: its group reads nothing meanwhile, so that leads of that time are in no group. One by one they are listed, as intake has them. */
      blocked?: {
        service: string;
        destination: string;
        /** @enum {string} */
        mode: 'blocked' | 'probing';
        reason: string;
        hold?: {
          by: string;
          reason: string;
          at: string;
        };
        /** @description No probe before then. */
        open_until?: string;
        /** @description Leads on the topic that no process has taken up yet, test leads included: while nothing is sent there none is. Absent: of a channel, or nobody answers. */
        unclaimed?: {
          count?: number;
          /** @description `count` is an upper bound: not every record was looked at yet. */
          at_most?: boolean;
          /**
           * Format: date-time
           * @description When the oldest of them was submitted.
           */
          oldest_at?: string;
          /**
           * @description Why there is no `count`: Kafka does not answer or refuses, or the group has no committed position.
           * @enum {string}
           */
          unknown?: 'kafka_away' | 'kafka_refused' | 'no_position';
        };
      }[];
      /** @description Services that do not answer: what only they know is left out. */
      unavailable?: string[];
    };
    LettersGroupsResponse: {
      /**
       * Format: date-time
       * @description What is decided about a group as of then leaves out letters that came later.
       */
      as_of: string;
      items: {
        key: string;
        class: string;
        destination: string | null;
        code: string | null;
        schema_id: number | null;
        count: number;
        /**
         * Format: date-time
         * @description When the first of them ended; of what waits, when its lead was submitted.
         */
        first_at: string;
        /** Format: date-time */
        last_at: string;
        /** @description How many ended in each of the last 24 hours, the oldest hour first. */
        trend: number[];
        owner: string;
        /** @description The earliest time for an answer. */
        respond_by: string | null;
        overdue: number;
        /** @description `mixed`: not the same for all of them. */
        disposition: string;
        assignee: string | null;
        next_action?: string;
        runbook?: string;
        sample_event_ids: string[];
      }[];
      /** @description Smaller groups that are not shown. */
      left_out: number;
      /** @description Only of `held`: every destination that nothing is sent to, with what lies on its topic: its group reads nothing meanwhile, so that leads of that time are in no group. One by one they are listed, as intake has them. */
      blocked?: {
        service: string;
        destination: string;
        /** @enum {string} */
        mode: 'blocked' | 'probing';
        reason: string;
        hold?: {
          by: string;
          reason: string;
          at: string;
        };
        /** @description No probe before then. */
        open_until?: string;
        /** @description Leads on the topic that no process has taken up yet, test leads included: while nothing is sent there none is. Absent: of a channel, or nobody answers. */
        unclaimed?: {
          count?: number;
          /** @description `count` is an upper bound: not every record was looked at yet. */
          at_most?: boolean;
          /**
           * Format: date-time
           * @description When the oldest of them was submitted.
           */
          oldest_at?: string;
          /**
           * @description Why there is no `count`: Kafka does not answer or refuses, or the group has no committed position.
           * @enum {string}
           */
          unknown?: 'kafka_away' | 'kafka_refused' | 'no_position';
        };
      }[];
      /** @description Services that do not answer: what only they know is left out. */
      unavailable?: string[];
    };
    LettersShowResponse: {
      items: {
        dead_letter_id: string;
        state: string;
        closed_as: string | null;
        closed_at: string | null;
        service: string;
        event_id: string | null;
        destination: string | null;
        lead_ref: string | null;
        organization: string | null;
        source: string | null;
        form: string | null;
        campaign: string | null;
        submission_ref: string | null;
        test: boolean;
        operation_key: string | null;
        operation_kind: string | null;
        endpoint: string | null;
        class: string;
        code: string | null;
        status: number | null;
        schema_id: number | null;
        reference: string | null;
        attempts: number;
        provider_request_id: string | null;
        trace_id: string | null;
        submitted_at: string | null;
        first_seen_at: string | null;
        deadline_at: string | null;
        /** Format: date-time */
        dead_at: string;
        /** Format: date-time */
        received_at: string;
        owner: string;
        assignee: string | null;
        disposition: string;
        /** Format: date-time */
        respond_by: string;
        /** Format: date-time */
        delete_after: string;
        found_by: string;
        group_key: string;
        /** @description Since the lead was submitted, as far as that is known. */
        age_ms: number;
        /** @description Until it is deleted, once it is closed. */
        retention_ms_left: number;
        note_count: number;
        /** @description What to do next. */
        next_action?: string;
        /** @description The page that says how. */
        runbook?: string;
        operations: {
          [key: string]: unknown;
        }[];
        history: {
          [key: string]: unknown;
        }[];
        topic: string | null;
        partition: number | null;
        record_offset: string | null;
        origin_topic: string | null;
        origin_partition: number | null;
        origin_offset: string | null;
      }[];
    };
    LettersNotesResponse: {
      items: {
        note_id: string;
        /** Format: date-time */
        at: string;
        by: string;
        text: string;
      }[];
    };
    LettersAssignRequest: {
      ids?: string[];
      group?:
        | string
        | {
            /** Format: uuid */
            key: string;
            /**
             * Format: date-time
             * @description `as_of` of the answer with the groups. Absent: now.
             */
            as_of?: string;
          };
      /** @description Subject of a person, as `/v1/me` names it. Empty: nobody. */
      assignee: string | null;
      /** @description For colleagues; no addresses or numbers of leads: it is kept for good. */
      reason?: string;
    };
    LettersAssignResponse: {
      /** @description How many letters it is about. */
      letters: number;
    };
    LettersNoteRequest: {
      ids?: string[];
      group?:
        | string
        | {
            /** Format: uuid */
            key: string;
            /**
             * Format: date-time
             * @description `as_of` of the answer with the groups. Absent: now.
             */
            as_of?: string;
          };
      /** @description For colleagues; no addresses or numbers of leads: it is kept for good. */
      text: string;
    };
    LettersNoteResponse: {
      /** @description How many letters it is about. */
      letters: number;
    };
    LettersDispositionRequest: {
      ids?: string[];
      group?:
        | string
        | {
            /** Format: uuid */
            key: string;
            /**
             * Format: date-time
             * @description `as_of` of the answer with the groups. Absent: now.
             */
            as_of?: string;
          };
      /** @enum {string} */
      disposition: 'investigate' | 'approve_replay' | 'discard';
      /** @description For colleagues; no addresses or numbers of leads: it is kept for good. */
      reason: string;
    };
    LettersDispositionResponse: {
      /** @description How many letters it is about. */
      letters: number;
    };
    LettersDismissManyRequest: {
      ids?: string[];
      group?:
        | string
        | {
            /** Format: uuid */
            key: string;
            /**
             * Format: date-time
             * @description `as_of` of the answer with the groups. Absent: now.
             */
            as_of?: string;
          };
      /** @description Of a group: its `count` as it was shown. Where more letters than that are open in it now, nothing is dismissed. */
      expected?: number;
      /**
       * Format: uuid
       * @description `next` of the answer before.
       */
      after?: string;
      /** @description For colleagues; no addresses or numbers of leads: it is kept for good. */
      reason: string;
    };
    LettersDismissManyResponse: {
      /** @description How many were closed by this request. */
      dismissed: number;
      /** @description How many stay as they are, by why. */
      left: {
        /** @description They close by what becomes of their delivery: replay or discard it. */
        delivery_decides: number;
        /** @description An approved batch has them. */
        in_batch: number;
        /** @description Somebody else closed them meanwhile. */
        closed_before: number;
      };
      /**
       * Format: uuid
       * @description There are more letters: ask again with it as `after`.
       */
      next?: string;
    };
    LettersDismissRequest: {
      /** @description For colleagues; no addresses or numbers of leads: it is kept for good. */
      reason: string;
    };
    LettersDismissResponse: {
      dismissed: boolean;
      outcome: string;
    };
    OverviewOverviewResponse: {
      /** Format: date-time */
      as_of: string;
      /** @description When the services were last asked for what is under way; null: not within the last hour. */
      sampled_at: string | null;
      /** @description `unclaimed`: on the topic, taken up by nobody yet, without test leads; absent also where nobody can say. */
      counts: {
        destination: string;
        state: string;
        count: number;
      }[];
      oldest: {
        destination: string;
        state: string;
        age_ms: number | null;
      }[];
      /** @description As last taken; null: not yet, or not for somebody who may not see all organizations. */
      balance: {
        balanced: boolean;
        as_of: string;
        accepted: number;
        delivered: number;
        open: number;
        dead: number;
        expired: number;
        discarded: number;
        erased: number;
        unaccounted: number;
      } | null;
      /** @description Each minute of the last hour; null: a service did not answer, or nobody could say what lies unclaimed. */
      backlog: {
        /** Format: date-time */
        at: string;
        waiting: number | null;
        held: number | null;
        /** @description On the topic, taken up by nobody yet. */
        unclaimed: number | null;
        dead: number;
        open: number | null;
        oldest_age_ms: number | null;
      }[];
      /** @description Milliseconds from submission until the destination had it, by the hour of acceptance. */
      time_to_write: {
        at: string;
        measured: number;
        p50: number;
        p95: number;
        p99: number;
      }[];
      /** @description When what is not there yet is taken next. Absent where all is there, and for somebody who may not see all organizations. */
      not_yet?: {
        /** Format: date-time */
        balance?: string;
        /** Format: date-time */
        time_to_write?: string;
      };
      work_by_owner: {
        owner: string;
        open: number;
        overdue: number;
        oldest_age_ms: number | null;
      }[];
      /** @description What differs at destinations, as last counted; null: not yet, or nothing is compared here. */
      reconciliation: {
        as_of: string;
        /** @description Discrepancies that nobody has decided about, or whose repair failed. */
        open: {
          destination: string;
          /** @enum {string} */
          class:
            | 'missing'
            | 'deleted'
            | 'duplicate'
            | 'content_conflict'
            | 'late'
            | 'orphan'
            | 'possible_manual_twin'
            | 'told_nobody'
            | 'relationship'
            | 'dead_end';
          count: number;
          /** @description Of high urgency. */
          high: number;
        }[];
        /** @description There are more than were counted. */
        more: boolean;
        /** @description The last run of each destination; none for somebody who may not see all organizations. */
        last_runs: {
          destination: string;
          run_id: string;
          /** @enum {string} */
          state: 'waiting' | 'running' | 'finished' | 'stopped' | 'failed';
          from: string;
          to: string;
          finished_at?: string;
          /** @description Leads. */
          compared: number;
        }[];
      } | null;
      recent_batches: {
        /** Format: uuid */
        batch_id: string;
        /** @enum {string} */
        state: 'draft' | 'checked' | 'approved' | 'canary' | 'running' | 'paused' | 'finished' | 'stopped' | 'expired';
        hash: string;
        author: string;
        /** @description Who changed it last, and approves it no more than its author does; null: nobody since the draft. */
        edited_by: string | null;
        approver: string | null;
        approved_by: string | null;
        policy: string;
        reason: string | null;
        selection: {
          [key: string]: unknown;
        };
        caps: {
          max: number;
          rate_per_s: number;
          concurrency: number;
          max_duration_ms: number;
          new_deadline_ms: number;
        };
        counts: {
          items: number;
          eligible: number;
          approved: number;
          sent: number;
          succeeded: number;
          failed: number;
          uncertain: number;
          ended: number;
          stopped: number;
          not_applied: number;
          skipped: number;
          open: number;
        };
        verdicts: {
          [key: string]: number;
        };
        canary: {
          size: number;
          ended: number;
          verified: number;
          lookups: number;
          vouched_by?: string;
        };
        why?: {
          code: string;
          detail: string | null;
        };
        stopped_by?: string;
        paused_from?: string;
        created_at: string;
        checked_at: string | null;
        approved_at: string | null;
        approval_expires_at: string | null;
        began_at: string | null;
        running_at: string | null;
        not_after: string | null;
        deadline_at: string | null;
        ended_at: string | null;
        ended_by: string | null;
        rate_now: number;
        progress: number;
      }[];
    };
    BatchesListResponse: {
      items: {
        /** Format: uuid */
        batch_id: string;
        /** @enum {string} */
        state: 'draft' | 'checked' | 'approved' | 'canary' | 'running' | 'paused' | 'finished' | 'stopped' | 'expired';
        hash: string;
        author: string;
        /** @description Who changed it last, and approves it no more than its author does; null: nobody since the draft. */
        edited_by: string | null;
        approver: string | null;
        approved_by: string | null;
        policy: string;
        reason: string | null;
        selection: {
          [key: string]: unknown;
        };
        caps: {
          max: number;
          rate_per_s: number;
          concurrency: number;
          max_duration_ms: number;
          new_deadline_ms: number;
        };
        counts: {
          items: number;
          eligible: number;
          approved: number;
          sent: number;
          succeeded: number;
          failed: number;
          uncertain: number;
          ended: number;
          stopped: number;
          not_applied: number;
          skipped: number;
          open: number;
        };
        verdicts: {
          [key: string]: number;
        };
        canary: {
          size: number;
          ended: number;
          verified: number;
          lookups: number;
          vouched_by?: string;
        };
        why?: {
          code: string;
          detail: string | null;
        };
        stopped_by?: string;
        paused_from?: string;
        created_at: string;
        checked_at: string | null;
        approved_at: string | null;
        approval_expires_at: string | null;
        began_at: string | null;
        running_at: string | null;
        not_after: string | null;
        deadline_at: string | null;
        ended_at: string | null;
        ended_by: string | null;
        rate_now: number;
        progress: number;
      }[];
      next?: string;
    };
    BatchesDraftRequest: {
      select?: {
        destination?: string;
        class?: string;
        code?: string;
        /** @constant */
        no_code?: true;
        schema_id?: number;
        /** @constant */
        no_schema_id?: true;
        organization?: string;
        source?: string;
        form?: string;
        /** Format: date-time */
        submitted_from?: string;
        /** Format: date-time */
        submitted_to?: string;
        /** Format: date-time */
        dead_from?: string;
        /** Format: date-time */
        dead_to?: string;
        event_ids?: string[];
      };
      filter?: {
        destination?: string;
        class?: string;
        code?: string;
        /** @constant */
        no_code?: true;
        schema_id?: number;
        /** @constant */
        no_schema_id?: true;
        organization?: string;
        source?: string;
        form?: string;
        /** Format: date-time */
        submitted_from?: string;
        /** Format: date-time */
        submitted_to?: string;
        /** Format: date-time */
        dead_from?: string;
        /** Format: date-time */
        dead_to?: string;
        event_ids?: string[];
      };
      /** @default 10000 */
      max?: number;
      /** @description A whole number and a unit: ms, s, m, h or d. */
      new_deadline?: string;
      /** @default 20 */
      rate_per_s?: number;
      /** @default 50 */
      concurrency?: number;
      /** @description A whole number and a unit: ms, s, m, h or d. */
      max_duration?: string;
      canary?: number;
      /** @description For colleagues; no addresses or numbers of leads: it is kept for good. */
      reason: string;
      destination?: string;
    };
    BatchesDraftResponse: {
      /** Format: uuid */
      batch_id: string;
      /** @constant */
      state: 'draft';
      hash: string;
      items: number;
    };
    BatchesReportResponse: {
      /** Format: uuid */
      batch_id: string;
      /** @enum {string} */
      state: 'draft' | 'checked' | 'approved' | 'canary' | 'running' | 'paused' | 'finished' | 'stopped' | 'expired';
      hash: string;
      author: string;
      /** @description Who changed it last, and approves it no more than its author does; null: nobody since the draft. */
      edited_by: string | null;
      approver: string | null;
      approved_by: string | null;
      policy: string;
      reason: string | null;
      selection: {
        [key: string]: unknown;
      };
      caps: {
        max: number;
        rate_per_s: number;
        concurrency: number;
        max_duration_ms: number;
        new_deadline_ms: number;
      };
      counts: {
        items: number;
        eligible: number;
        approved: number;
        sent: number;
        succeeded: number;
        failed: number;
        uncertain: number;
        ended: number;
        stopped: number;
        not_applied: number;
        skipped: number;
        open: number;
      };
      verdicts: {
        [key: string]: number;
      };
      canary: {
        size: number;
        ended: number;
        verified: number;
        lookups: number;
        vouched_by?: string;
      };
      why?: {
        code: string;
        detail: string | null;
      };
      stopped_by?: string;
      paused_from?: string;
      created_at: string;
      checked_at: string | null;
      approved_at: string | null;
      approval_expires_at: string | null;
      began_at: string | null;
      running_at: string | null;
      not_after: string | null;
      deadline_at: string | null;
      ended_at: string | null;
      ended_by: string | null;
      rate_now: number;
      progress: number;
    };
    BatchesEditRequest: {
      /** @description A whole number and a unit: ms, s, m, h or d. */
      new_deadline?: string;
      rate_per_s?: number;
      concurrency?: number;
      /** @description A whole number and a unit: ms, s, m, h or d. */
      max_duration?: string;
      canary?: number;
      /** @description For colleagues; no addresses or numbers of leads: it is kept for good. */
      reason?: string;
      exclude_event_ids?: string[];
    };
    BatchesEditResponse: {
      /** Format: uuid */
      batch_id: string;
      /** @enum {string} */
      state: 'draft' | 'checked' | 'approved' | 'canary' | 'running' | 'paused' | 'finished' | 'stopped' | 'expired';
      hash: string;
      items: number;
    };
    BatchesCheckRequest: Record<string, never>;
    BatchesCheckResponse: {
      /** Format: uuid */
      batch_id: string;
      /** @constant */
      state: 'checked';
      hash: string;
      verdicts: {
        [key: string]: number;
      };
      items: number;
      lookups: {
        made: number;
        left_out: number;
      };
    };
    BatchesApproveRequest: {
      hash: string;
      /**
       * @default second_person
       * @enum {string}
       */
      policy?: 'second_person' | 'single_operator';
      /** @description A whole number and a unit: ms, s, m, h or d. */
      valid_for?: string;
    };
    BatchesApproveResponse: {
      /** Format: uuid */
      batch_id: string;
      /** @constant */
      state: 'approved';
      hash: string;
      approver: string;
      policy: string;
      approved: number;
      skipped: number;
      canary: number;
      expires_at: string;
      deadline_at: string;
    };
    BatchesPauseRequest: {
      /** @description For colleagues; no addresses or numbers of leads: it is kept for good. */
      reason: string;
    };
    BatchesPauseResponse: {
      /** Format: uuid */
      batch_id: string;
      /** @enum {string} */
      state: 'draft' | 'checked' | 'approved' | 'canary' | 'running' | 'paused' | 'finished' | 'stopped' | 'expired';
    };
    BatchesResumeRequest: {
      /** @description For colleagues; no addresses or numbers of leads: it is kept for good. */
      reason: string;
    };
    BatchesResumeResponse: {
      /** Format: uuid */
      batch_id: string;
      /** @enum {string} */
      state: 'draft' | 'checked' | 'approved' | 'canary' | 'running' | 'paused' | 'finished' | 'stopped' | 'expired';
    };
    BatchesStopRequest: {
      /** @description For colleagues; no addresses or numbers of leads: it is kept for good. */
      reason?: string;
    };
    BatchesStopResponse: {
      /** Format: uuid */
      batch_id: string;
      /** @enum {string} */
      state: 'draft' | 'checked' | 'approved' | 'canary' | 'running' | 'paused' | 'finished' | 'stopped' | 'expired';
    };
    BatchesItemsResponse: {
      items: {
        /** Format: uuid */
        item_id: string;
        /** Format: uuid */
        event_id: string;
        destination: string;
        service: string;
        organization: string | null;
        position: number;
        state: string;
        verdict: string | null;
        detail: string | null;
        letter_class: string | null;
        class: string | null;
        code: string | null;
        canary: boolean;
        found: string | null;
        lookups: number;
        refs: {
          [key: string]: string;
        };
        operation_keys: string[];
        /** @description What it does at the destination about each record that differs: makes it anew, or writes it again. Absent: it is tried again. */
        repair?: {
          discrepancy_id: string;
          kind: string;
          /** @enum {string} */
          repair: 'create' | 'update';
          ref?: string;
        }[];
        duration_ms: number | null;
        sent_at: string | null;
        original_deadline_at: string | null;
        closed_at: string | null;
      }[];
      next?: string;
    };
    BatchesApproveAloneRequest: {
      /** @description For colleagues; no addresses or numbers of leads: it is kept for good. */
      reason?: string;
      /** @description A whole number and a unit: ms, s, m, h or d. */
      new_deadline: string;
      select: {
        destination?: string;
        class?: string;
        code?: string;
        /** @constant */
        no_code?: true;
        schema_id?: number;
        /** @constant */
        no_schema_id?: true;
        organization?: string;
        source?: string;
        form?: string;
        /** Format: date-time */
        submitted_from?: string;
        /** Format: date-time */
        submitted_to?: string;
        /** Format: date-time */
        dead_from?: string;
        /** Format: date-time */
        dead_to?: string;
        event_ids?: string[];
      };
      /** @default 50 */
      max?: number;
    };
    BatchesApproveAloneResponse: {
      /** Format: uuid */
      batch_id?: string;
      approved: number;
      not_after?: string;
      deadline_at?: string;
      reason?: string;
      items: {
        /** Format: uuid */
        event_id: string;
        destination: string;
        verdict: string;
        reason?: string;
        /** Format: uuid */
        item_id?: string;
      }[];
    };
    LeadsSearchRequest: {
      /** @description Any id of a lead, an e-mail address or a phone number. */
      text: string;
      /**
       * @default auto
       * @enum {string}
       */
      kind?: 'auto' | 'email' | 'phone';
    };
    LeadsSearchResponse: {
      items: {
        /**
         * @description What the text was found as.
         * @enum {string}
         */
        kind: 'event_id' | 'source_event_id' | 'operation_key' | 'attempt_id' | 'trace_id' | 'crm_id' | 'lead_ref' | 'email' | 'phone';
        event_id: string;
        lead_ref: string | null;
        organization: string;
        source: string;
        form: string | null;
        submitted_at: string | null;
        test: boolean;
        state: string;
      }[];
      /** @description Services that did not answer: what only they know is not among the items. */
      unavailable: string[];
    };
    LeadsTimelineResponse: {
      event_id: string;
      lead_ref: string | null;
      organization: string;
      source: string | null;
      form: string | null;
      campaign: string | null;
      submitted_at: string | null;
      accepted_at: string | null;
      deadline_at: string | null;
      /** @description Name of who looks after the lead. */
      owner: string | null;
      test: boolean;
      trace_id: string | null;
      /** @description Null: nothing is kept, or it cannot be read now. */
      masked: {
        /** @description Null: the lead has none. */
        name: string | null;
        /** @description Null: the lead has none. */
        email: string | null;
        /** @description Null: the lead has none. */
        phone: string | null;
      } | null;
      vault: {
        /** @enum {string} */
        state: 'kept' | 'gone';
        revision: number;
        consent_withdrawn_at: string | null;
        delete_after: string | null;
      } | null;
      supersedes: string | null;
      superseded_by: string[];
      summary: {
        what_happened: string;
        next: string;
        /** @description ISO 8601 in UTC. */
        when?: string;
        who: string;
        seen_by_customer: string;
        seen_by_sales: string;
      };
      deliveries: {
        service: string;
        destination: string;
        state: string;
        class?: string;
        code?: string;
        /** @description Only where its owner did not answer: this is what was heard last, then. */
        as_of?: string;
        /** @description ISO 8601 in UTC. */
        deadline_at?: string;
        /** @description Before an approved replay set another. */
        original_deadline_at?: string;
        generation: number;
        /** @description ISO 8601 in UTC. */
        next_attempt_at?: string;
        /** @description Why it happens then, or does not. */
        why?: string;
        operations: {
          operation_key: string;
          kind: string;
          state: string;
          ref?: string;
          attempts: number;
        }[];
      }[];
      /** @description Oldest first. */
      events: {
        /** @description ISO 8601 in UTC. */
        at: string;
        /**
         * @description action: what a person did; reconciliation: what was found to differ at a destination, and what repaired it.
         * @enum {string}
         */
        kind:
          | 'submitted'
          | 'accepted'
          | 'announced'
          | 'refused'
          | 'received'
          | 'attempt'
          | 'lookup'
          | 'evidence'
          | 'ended'
          | 'dead_letter'
          | 'replay'
          | 'reconciliation'
          | 'action'
          | 'consent';
        title: string;
        service: string;
        destination?: string;
        operation_key?: string;
        attempt_id?: string;
        number?: number;
        outcome?: string;
        class?: string;
        code?: string;
        status?: number;
        provider_request_id?: string;
        duration_ms?: number;
        ref?: string;
        trace_id?: string;
        topic?: string;
        partition?: number;
        offset?: string;
        /** @description Subject of the person. */
        by?: string;
        detail?: string;
      }[];
      dead_letters: {
        dead_letter_id: string;
        state: string;
        closed_as: string | null;
        /** @description ISO 8601 in UTC. */
        closed_at?: string;
        service: string;
        destination: string | null;
        class: string;
        code: string | null;
        /** @description ISO 8601 in UTC. */
        dead_at: string;
        owner: string;
        disposition: string;
        /** @description ISO 8601 in UTC. */
        respond_by: string;
        /** @description ISO 8601 in UTC. */
        delete_after: string;
        runbook?: string;
      }[];
      notifications: {
        channel: string;
        template: string;
        state: string;
        /** @description ISO 8601 in UTC. */
        next_attempt_at?: string;
        /** @description ISO 8601 in UTC. */
        as_of?: string;
      }[];
      replays: {
        batch_id: string;
        item_id: string;
        destination: string;
        state: string;
        batch_state: string;
        /** @description It repairs what differs at the destination. */
        repairs: boolean;
        author: string | null;
        approver: string | null;
        reason: string | null;
        /** @description ISO 8601 in UTC. */
        approved_at?: string;
        /** @description ISO 8601 in UTC. */
        deadline_at?: string;
        /** @description ISO 8601 in UTC. */
        closed_at?: string;
      }[];
      /** @description Services that did not answer: what only they know is left out, or the last that was heard. */
      unavailable: string[];
    };
    LeadsRevealRequest: {
      /** @description For colleagues; no addresses or numbers of leads: it is kept for good. */
      reason: string;
    };
    LeadsRevealResponse: {
      /** @description ISO 8601: show it no longer than that. */
      until: string;
      fields: {
        name: string | null;
        email: string | null;
        phone: string | null;
        message: string | null;
        custom: {
          [key: string]: string | number | boolean | null;
        };
      };
    };
    LeadsLookupRequest: {
      /**
       * @default crm-writer
       * @enum {string}
       */
      service?: 'crm-writer' | 'notifier';
      destination: string;
      operation_key: string;
    };
    LeadsLookupResponse: {
      /** @constant */
      applied: true;
      /** @description Of the delivery afterwards. */
      state?: string;
    };
    LeadsEvidenceRequest: {
      /**
       * @default crm-writer
       * @enum {string}
       */
      service?: 'crm-writer' | 'notifier';
      destination: string;
      operation_key: string;
      /** @description What you found when you looked at the destination. */
      finding:
        | {
            /** @constant */
            kind: 'found';
            /** @description The destination’s own id of the record. */
            ref: string;
          }
        | {
            /** @constant */
            kind: 'absent';
          };
      /** @description For colleagues; no addresses or numbers of leads: it is kept for good. */
      reason: string;
    };
    LeadsEvidenceResponse: {
      /** @constant */
      applied: true;
      /** @description Of the delivery afterwards. */
      state?: string;
    };
    LeadsDiscardRequest: {
      /**
       * @default crm-writer
       * @enum {string}
       */
      service?: 'crm-writer' | 'notifier';
      destination: string;
      /** @description For colleagues; no addresses or numbers of leads: it is kept for good. */
      reason: string;
      /** @description Where the proof is kept; needed where it may have arrived. */
      evidence?: string;
    };
    LeadsDiscardResponse: {
      /** @constant */
      applied: true;
      /** @description Of the delivery afterwards. */
      state?: string;
    };
    ConsentWithdrawRequest: {
      /**
       * @description Consent can only be withdrawn here.
       * @constant
       */
      given: false;
      /**
       * Format: date-time
       * @description When the person withdrew it; default: now.
       */
      at?: string;
      /** @description For colleagues; no addresses or numbers of leads: it is kept for good. */
      reason: string;
    };
    ConsentWithdrawResponse: {
      event_id: string;
      /** @enum {string} */
      result: 'withdrawn' | 'gone';
    };
    CorrectionsListResponse: {
      items: {
        /** Format: uuid */
        correction_id: string;
        /** @enum {string} */
        state: 'draft' | 'approved' | 'sent' | 'done' | 'failed' | 'expired';
        /** Format: uuid */
        event_id: string;
        lead_ref: string;
        destination: string;
        organization: string;
        /** @description Of the payload of the same lead. */
        revision: number;
        /** @description Names of what changes, never the values. */
        fields: string[];
        /** @description change: the destination has it, it is changed there; keep: it has it, nothing changes; create: it does not have it. */
        operations: {
          operation_key: string;
          kind: string;
          /** @enum {string} */
          step: 'change' | 'keep' | 'create';
          found: boolean;
          ref?: string;
        }[];
        hash: string;
        author: string;
        approver: string | null;
        reason: string;
        created_at: string;
        expires_at: string;
        approved_at: string | null;
        sent_at: string | null;
        ended_at: string | null;
        class: string | null;
        code: string | null;
      }[];
      next?: string;
    };
    CorrectionsDraftRequest: {
      /** Format: uuid */
      event_id: string;
      destination: string;
      /** @description The fields as they should be; the values are sealed at once, and this service keeps only their names. */
      changes: {
        name?: string;
        email?: string;
        phone?: string;
        message?: string;
        custom?: {
          [key: string]: string | number | boolean | null;
        };
      };
      /** @description For colleagues; no addresses or numbers of leads: it is kept for good. */
      reason: string;
    };
    CorrectionsDraftResponse: {
      /** Format: uuid */
      correction_id: string;
      /** @enum {string} */
      state: 'draft' | 'approved' | 'sent' | 'done' | 'failed' | 'expired';
      /** Format: uuid */
      event_id: string;
      lead_ref: string;
      destination: string;
      organization: string;
      /** @description Of the payload of the same lead. */
      revision: number;
      /** @description Names of what changes, never the values. */
      fields: string[];
      /** @description change: the destination has it, it is changed there; keep: it has it, nothing changes; create: it does not have it. */
      operations: {
        operation_key: string;
        kind: string;
        /** @enum {string} */
        step: 'change' | 'keep' | 'create';
        found: boolean;
        ref?: string;
      }[];
      hash: string;
      author: string;
      approver: string | null;
      reason: string;
      created_at: string;
      expires_at: string;
      approved_at: string | null;
      sent_at: string | null;
      ended_at: string | null;
      class: string | null;
      code: string | null;
    };
    CorrectionsShowResponse: {
      /** Format: uuid */
      correction_id: string;
      /** @enum {string} */
      state: 'draft' | 'approved' | 'sent' | 'done' | 'failed' | 'expired';
      /** Format: uuid */
      event_id: string;
      lead_ref: string;
      destination: string;
      organization: string;
      /** @description Of the payload of the same lead. */
      revision: number;
      /** @description Names of what changes, never the values. */
      fields: string[];
      /** @description change: the destination has it, it is changed there; keep: it has it, nothing changes; create: it does not have it. */
      operations: {
        operation_key: string;
        kind: string;
        /** @enum {string} */
        step: 'change' | 'keep' | 'create';
        found: boolean;
        ref?: string;
      }[];
      hash: string;
      author: string;
      approver: string | null;
      reason: string;
      created_at: string;
      expires_at: string;
      approved_at: string | null;
      sent_at: string | null;
      ended_at: string | null;
      class: string | null;
      code: string | null;
    };
    CorrectionsApproveRequest: {
      /** @description Of the draft that was looked at. */
      hash: string;
    };
    CorrectionsApproveResponse: {
      /** Format: uuid */
      correction_id: string;
      /** @enum {string} */
      state: 'draft' | 'approved' | 'sent' | 'done' | 'failed' | 'expired';
      /** Format: uuid */
      event_id: string;
      lead_ref: string;
      destination: string;
      organization: string;
      /** @description Of the payload of the same lead. */
      revision: number;
      /** @description Names of what changes, never the values. */
      fields: string[];
      /** @description change: the destination has it, it is changed there; keep: it has it, nothing changes; create: it does not have it. */
      operations: {
        operation_key: string;
        kind: string;
        /** @enum {string} */
        step: 'change' | 'keep' | 'create';
        found: boolean;
        ref?: string;
      }[];
      hash: string;
      author: string;
      approver: string | null;
      reason: string;
      created_at: string;
      expires_at: string;
      approved_at: string | null;
      sent_at: string | null;
      ended_at: string | null;
      class: string | null;
      code: string | null;
    };
    ErasuresListResponse: {
      items: {
        /** Format: uuid */
        erasure_id: string;
        /** @enum {string} */
        state: 'draft' | 'running' | 'tasks' | 'complete' | 'expired';
        /**
         * @description What the person was named by.
         * @enum {string}
         */
        kind: 'event_id' | 'email' | 'phone';
        hash: string;
        author: string;
        approver: string | null;
        reason: string;
        organizations: string[];
        created_at: string;
        expires_at: string;
        approved_at: string | null;
        /** @description Every service has acknowledged. */
        erased_at: string | null;
        /** @description What destinations held is deleted there, too. */
        completed_at: string | null;
      }[];
      next?: string;
    };
    ErasuresDraftRequest: {
      /**
       * Format: uuid
       * @description One lead alone.
       */
      event_id?: string;
      /** @description Everything of the person with this address; it is hashed at once and kept nowhere. */
      email?: string;
      /** @description The same by phone number. */
      phone?: string;
      /** @description For colleagues; no addresses or numbers of leads: it is kept for good. */
      reason: string;
    };
    ErasuresDraftResponse: {
      /** Format: uuid */
      erasure_id: string;
      /** @enum {string} */
      state: 'draft' | 'running' | 'tasks' | 'complete' | 'expired';
      /**
       * @description What the person was named by.
       * @enum {string}
       */
      kind: 'event_id' | 'email' | 'phone';
      hash: string;
      author: string;
      approver: string | null;
      reason: string;
      organizations: string[];
      created_at: string;
      expires_at: string;
      approved_at: string | null;
      /** @description Every service has acknowledged. */
      erased_at: string | null;
      /** @description What destinations held is deleted there, too. */
      completed_at: string | null;
      /** @description The person has more leads than one erasure takes: make another afterwards. */
      more: boolean;
      /** @description Keyed hashes; they cannot be read back. */
      subject_keys: {
        kind: string;
        organization: string;
        key: string;
      }[];
      leads: {
        event_id: string;
        lead_ref: string | null;
        organization: string;
      }[];
      /** @description What each place held, and holds now. */
      places: {
        place: string;
        before: number;
        /** @description As counted there; null: not yet. */
        after: number | null;
        done: boolean;
      }[];
      tasks: {
        task_id: string;
        service: string;
        destination: string;
        kind: string;
        ref: string;
        done: boolean;
        done_at: string | null;
        done_by: string | null;
      }[];
    };
    ErasuresShowResponse: {
      /** Format: uuid */
      erasure_id: string;
      /** @enum {string} */
      state: 'draft' | 'running' | 'tasks' | 'complete' | 'expired';
      /**
       * @description What the person was named by.
       * @enum {string}
       */
      kind: 'event_id' | 'email' | 'phone';
      hash: string;
      author: string;
      approver: string | null;
      reason: string;
      organizations: string[];
      created_at: string;
      expires_at: string;
      approved_at: string | null;
      /** @description Every service has acknowledged. */
      erased_at: string | null;
      /** @description What destinations held is deleted there, too. */
      completed_at: string | null;
      /** @description The person has more leads than one erasure takes: make another afterwards. */
      more: boolean;
      /** @description Keyed hashes; they cannot be read back. */
      subject_keys: {
        kind: string;
        organization: string;
        key: string;
      }[];
      leads: {
        event_id: string;
        lead_ref: string | null;
        organization: string;
      }[];
      /** @description What each place held, and holds now. */
      places: {
        place: string;
        before: number;
        /** @description As counted there; null: not yet. */
        after: number | null;
        done: boolean;
      }[];
      tasks: {
        task_id: string;
        service: string;
        destination: string;
        kind: string;
        ref: string;
        done: boolean;
        done_at: string | null;
        done_by: string | null;
      }[];
    };
    ErasuresApproveRequest: {
      /** @description Of the list that was looked at. */
      hash: string;
    };
    ErasuresApproveResponse: {
      /** Format: uuid */
      erasure_id: string;
      /** @enum {string} */
      state: 'draft' | 'running' | 'tasks' | 'complete' | 'expired';
      /**
       * @description What the person was named by.
       * @enum {string}
       */
      kind: 'event_id' | 'email' | 'phone';
      hash: string;
      author: string;
      approver: string | null;
      reason: string;
      organizations: string[];
      created_at: string;
      expires_at: string;
      approved_at: string | null;
      /** @description Every service has acknowledged. */
      erased_at: string | null;
      /** @description What destinations held is deleted there, too. */
      completed_at: string | null;
      /** @description The person has more leads than one erasure takes: make another afterwards. */
      more: boolean;
      /** @description Keyed hashes; they cannot be read back. */
      subject_keys: {
        kind: string;
        organization: string;
        key: string;
      }[];
      leads: {
        event_id: string;
        lead_ref: string | null;
        organization: string;
      }[];
      /** @description What each place held, and holds now. */
      places: {
        place: string;
        before: number;
        /** @description As counted there; null: not yet. */
        after: number | null;
        done: boolean;
      }[];
      tasks: {
        task_id: string;
        service: string;
        destination: string;
        kind: string;
        ref: string;
        done: boolean;
        done_at: string | null;
        done_by: string | null;
      }[];
    };
    ErasuresDoneRequest: Record<string, never>;
    ErasuresDoneResponse: {
      /** Format: uuid */
      erasure_id: string;
      /** @enum {string} */
      state: 'draft' | 'running' | 'tasks' | 'complete' | 'expired';
      /**
       * @description What the person was named by.
       * @enum {string}
       */
      kind: 'event_id' | 'email' | 'phone';
      hash: string;
      author: string;
      approver: string | null;
      reason: string;
      organizations: string[];
      created_at: string;
      expires_at: string;
      approved_at: string | null;
      /** @description Every service has acknowledged. */
      erased_at: string | null;
      /** @description What destinations held is deleted there, too. */
      completed_at: string | null;
      /** @description The person has more leads than one erasure takes: make another afterwards. */
      more: boolean;
      /** @description Keyed hashes; they cannot be read back. */
      subject_keys: {
        kind: string;
        organization: string;
        key: string;
      }[];
      leads: {
        event_id: string;
        lead_ref: string | null;
        organization: string;
      }[];
      /** @description What each place held, and holds now. */
      places: {
        place: string;
        before: number;
        /** @description As counted there; null: not yet. */
        after: number | null;
        done: boolean;
      }[];
      tasks: {
        task_id: string;
        service: string;
        destination: string;
        kind: string;
        ref: string;
        done: boolean;
        done_at: string | null;
        done_by: string | null;
      }[];
    };
    ReconciliationRunsResponse: {
      items: {
        /** Format: uuid */
        run_id: string;
        destination: string;
        /** @description ISO 8601 in UTC. */
        from: string;
        /** @description ISO 8601 in UTC. */
        to: string;
        filter: {
          form?: string;
          campaign?: string;
          outcome?: string;
        };
        /** @enum {string} */
        state: 'waiting' | 'running' | 'finished' | 'stopped' | 'failed';
        /** @description Who asked for it; `schedule`: nobody. */
        by: string;
        /** @description Why it failed, was stopped, or waits at the moment. */
        reason?: string;
        /** @description `compared`, `unconfirmed` and one per class; null for somebody who may not see all leads that go there. */
        counts: {
          [key: string]: number;
        } | null;
        /** @description Of the destination. */
        calls: number;
        /** @description ISO 8601 in UTC. */
        created_at: string;
        /** @description ISO 8601 in UTC. */
        started_at?: string;
        /** @description ISO 8601 in UTC. */
        finished_at?: string;
        /** @description How often another process took it on. */
        resumed: number;
      }[];
      /** @description Absent on the last page. */
      next?: string;
    };
    ReconciliationStartRequest: {
      destination: string;
      /**
       * Format: date-time
       * @description By the time at which leads were submitted, or their deliveries last changed: from (inclusive)
       */
      from: string;
      /**
       * Format: date-time
       * @description to (exclusive). Default: now.
       */
      to?: string;
      form?: string;
      campaign?: string;
      /** @description State of the delivery. */
      outcome?: string;
      /** @description For colleagues; no addresses or numbers of leads: it is kept for good. */
      reason?: string;
    };
    ReconciliationStartResponse: {
      /** Format: uuid */
      run_id: string;
    };
    ReconciliationStopRequest: {
      /** @description For colleagues; no addresses or numbers of leads: it is kept for good. */
      reason: string;
    };
    ReconciliationStopResponse: {
      /** Format: uuid */
      run_id: string;
      /** @constant */
      stopped: true;
    };
    ReconciliationDiscrepanciesResponse: {
      items: {
        /** Format: uuid */
        discrepancy_id: string;
        destination: string;
        organization?: string;
        event_id?: string;
        lead_ref?: string;
        /** @description Of the record. */
        kind?: string;
        operation_key?: string;
        /** @description The destination's id of the record. */
        ref?: string;
        /** @enum {string} */
        class:
          | 'missing'
          | 'deleted'
          | 'duplicate'
          | 'content_conflict'
          | 'late'
          | 'orphan'
          | 'possible_manual_twin'
          | 'told_nobody'
          | 'relationship'
          | 'dead_end';
        /** @enum {string} */
        aspect?:
          | 'value'
          | 'status'
          | 'version'
          | 'human_change'
          | 'delivered_without_reference'
          | 'succeeded_without_attempt'
          | 'assigned_without_owner'
          | 'wrong_contact'
          | 'told_late'
          | 'without_letter'
          | 'letter_without_state';
        /** @description Names of what differs, never a value. */
        fields: string[];
        /** @description References, states and times; no personal values. */
        evidence: {
          [key: string]: string | number | boolean | string[];
        };
        /** @enum {string} */
        urgency: 'high' | 'normal' | 'low';
        owner: string;
        next_step: string;
        /**
         * @description What an approved item can do about it; absent: a person decides at the destination.
         * @enum {string}
         */
        repair?: 'create' | 'update' | 'tell';
        /** @enum {string} */
        state: 'open' | 'repairing' | 'repaired' | 'repair_failed' | 'accepted' | 'gone';
        first_run_id: string;
        last_run_id: string;
        /** @description ISO 8601 in UTC. */
        first_seen_at: string;
        /** @description ISO 8601 in UTC. */
        last_seen_at: string;
        by?: string;
        approver?: string;
        item_id?: string;
        result?: string;
        reason?: string;
        /**
         * Format: uuid
         * @description The last batch that was made to repair it.
         */
        batch_id?: string;
        /** @description The page that says what to do. */
        runbook: string;
      }[];
      /** @description Absent on the last page. */
      next?: string;
    };
    ReconciliationAcceptRequest: {
      /** @description For colleagues; no addresses or numbers of leads: it is kept for good. */
      reason: string;
    };
    ReconciliationAcceptResponse: {
      /** Format: uuid */
      discrepancy_id: string;
      /** @constant */
      state: 'accepted';
    };
    ReconciliationRepairRequest: {
      ids?: string[];
      filter?: {
        /** @enum {string} */
        class?:
          | 'missing'
          | 'deleted'
          | 'duplicate'
          | 'content_conflict'
          | 'late'
          | 'orphan'
          | 'possible_manual_twin'
          | 'told_nobody'
          | 'relationship'
          | 'dead_end';
        destination?: string;
        owner?: string;
        /** Format: uuid */
        run_id?: string;
        /** Format: uuid */
        event_id?: string;
      };
      /** @default 10000 */
      max?: number;
      /** @description A whole number and a unit: ms, s, m, h or d. */
      new_deadline?: string;
      /** @default 20 */
      rate_per_s?: number;
      /** @default 50 */
      concurrency?: number;
      /** @description A whole number and a unit: ms, s, m, h or d. */
      max_duration?: string;
      canary?: number;
      /** @description For colleagues; no addresses or numbers of leads: it is kept for good. */
      reason: string;
    };
    ReconciliationRepairResponse: {
      /** Format: uuid */
      batch_id: string;
      /** @constant */
      state: 'draft';
      hash: string;
      /** @description Deliveries. */
      items: number;
      discrepancies: number;
      left_out: {
        /** @description A person decides about them at the destination. */
        no_repair: number;
        /** @description They are repaired, accepted or gone, or a batch repairs them. */
        settled: number;
        /** @description There are none of these ids that you may see. */
        unknown: number;
        /** @description Nobody was told, and no dead letter of it can be sent again: tell its owner, then accept it. */
        no_letter: number;
        /** @description Beyond `max`. */
        over_max: number;
      };
    };
    ReconciliationBalancesResponse: {
      items: {
        /** @description UTC, of acceptance. */
        day: string;
        organization: string;
        source: string;
        destination: string;
        accepted: number;
        /** @description Leads by the state in which they were found. */
        found: {
          [key: string]: number;
        };
        missing: number;
        incomplete: number;
        balanced: boolean;
        /** @description Every delivery of the day is final: it is not counted again. */
        closed: boolean;
        /** @description ISO 8601 in UTC. */
        taken_at: string;
      }[];
      received: {
        /** @description UTC, of acceptance. */
        day: string;
        organization: string;
        source: string;
        received: number;
        accepted: number;
        repeats: number;
        conflicts: number;
        rejected: number;
        balanced: boolean;
        /** @description ISO 8601 in UTC. */
        taken_at: string;
      }[];
    };
    OpenApiGetResponse: {
      openapi: string;
      paths: {
        [key: string]: unknown;
      };
    } & {
      [key: string]: unknown;
    };
  };
  responses: never;
  parameters: never;
  requestBodies: never;
  headers: never;
  pathItems: never;
}
