"""Models of this app, where Django looks for them: importing one of a module registers all models of the module."""

from dlq.discards.models import Discard as Discard
from dlq.erasure.models import Erasure as Erasure
from dlq.failure_groups.models import GroupNote as GroupNote
from dlq.jobs.approval_rules import ApprovalRule as ApprovalRule
from dlq.jobs.models import Job as Job
from dlq.masking.rules import MaskingRule as MaskingRule
from dlq.redrives.fleet.models import FleetRedrive as FleetRedrive
from dlq.redrives.plan_models import Plan as Plan
from dlq.redrives.staged.models import Staging as Staging
from dlq.search.saved_filters import SavedFilter as SavedFilter
