"""moto's server with what it leaves out of AWS: launches by token, going instances, copied launch templates, bounds, and delay.

Not AWS either, but neither ours: moto reads each request and writes each answer by the published models of both APIs. What a
test wants of a group stands in its tags: "test/lag-seconds" for which a new instance is shown nowhere, "test/capacity".
"""
import sys
import time

from moto.autoscaling.exceptions import AutoscalingClientError, ValidationError
from moto.autoscaling.models import AutoScalingBackend, FakeAutoScalingGroup, TerminateInstanceActivity
from moto.autoscaling.responses import AutoScalingResponse
from moto.core.responses import ActionResult
from moto.ec2.exceptions import InvalidInstanceIdError
from moto.ec2.models.instances import InstanceBackend
from moto.ec2.responses.launch_templates import LaunchTemplates
from moto.server import main

born = {}


def tag_of(group, key, default):
    return next((float(tag["Value"]) for tag in group.tags if tag["Key"] == key), default)


def is_shown(instance):
    group = getattr(instance, "autoscaling_group", None)
    return group is None or time.time() >= born.get(instance.id, 0) + tag_of(group, "test/lag-seconds", 0)


def need_group(backend, name):
    group = backend.autoscaling_groups.get(name)
    if group is None:
        raise ValidationError(f"AutoScalingGroup name not found - no such group: {name}")
    return group


def launch_instances(self):
    """One instance in the zone that is named; for a token that was used, what it was used for."""
    group = need_group(self.autoscaling_backend, self._get_param("AutoScalingGroupName"))
    token, zones = self._get_param("ClientToken"), self._get_param("AvailabilityZones", [])
    if len(zones) != 1 or zones[0] not in group.availability_zones or self._get_int_param("RequestedCapacity") != 1:
        raise ValidationError("one instance in one zone of the group is what this server launches")
    launches = group.__dict__.setdefault("launches", {})
    known = launches.get(token)
    if known and known[0] != zones[0]:
        raise AutoscalingClientError("IdempotentParameterMismatch", "the token was used with other parameters")
    return ActionResult({
        "AutoScalingGroupName": group.name,
        "ClientToken": token,
        **(known[1] if known else launched(group, token, zones[0])),
    })


def launched(group, token, zone):
    if group.desired_capacity + 1 > group.max_size:
        raise ValidationError(f"New SetDesiredCapacity value {group.desired_capacity + 1} is above max value {group.max_size}")
    if len(group.active_instances()) + 1 > tag_of(group, "test/capacity", 1000):
        error = {"ErrorCode": "InsufficientInstanceCapacity", "ErrorMessage": "no room", "AvailabilityZone": zone}
        return {"Instances": [], "Errors": [error]}
    group.desired_capacity += 1
    zones, group.availability_zones = group.availability_zones, [zone]
    group.replace_autoscaling_group_instances(1, group.get_propagated_tags())
    group.availability_zones = zones
    made = group.instance_states[-1].instance
    found = {"InstanceType": made.instance_type, "AvailabilityZone": zone, "InstanceIds": [made.id]}
    group.launches[token] = (zone, {"Instances": [found], "Errors": []})
    return group.launches[token][1]


def terminate_instance(self, instance_id, should_decrement):
    """It goes, and is there until somebody terminates it in EC2; its group makes another where it is to keep its size."""
    states = [each for group in self.autoscaling_groups.values() for each in group.instance_states]
    state = next((each for each in states if each.instance.id == instance_id), None)
    if state is None:
        raise ValidationError(f"Instance Id not found - No managed instance found for instance ID: {instance_id}")
    group, original = state.auto_scaling_group, state.auto_scaling_group.desired_capacity
    if should_decrement and original <= group.min_size:
        raise ValidationError("Currently, desiredSize equals minSize. Terminating instance without replacement is not allowed")
    group.desired_capacity -= 1 if should_decrement else 0
    state.lifecycle_state = "Terminating"
    state.instance._state.name, state.instance._state.code = "shutting-down", 32
    missing = group.desired_capacity - len(group.active_instances())
    if missing > 0:
        group.replace_autoscaling_group_instances(missing, group.get_propagated_tags())
    return TerminateInstanceActivity(state.instance, original)


def version_like_its_source(create):
    def create_launch_template_version(self):
        """All of the source that is not given anew; the same token is the same version."""
        template = self.ec2_backend.get_launch_template(self._get_param("LaunchTemplateId"))
        data = self._get_param("LaunchTemplateData", {})
        source = template.get_version(self._get_param("SourceVersion")).data if self._get_param("SourceVersion") else {}
        tokens, token = template.__dict__.setdefault("tokens", {}), self._get_param("ClientToken")
        known = tokens.get(token)
        if known is None:
            known = tokens[token] = template.create_version({**source, **data}, "")
        return ActionResult({"LaunchTemplateVersion": {
            "LaunchTemplateId": template.id, "LaunchTemplateName": template.name, "VersionNumber": known.number,
            "DefaultVersion": template.is_default(known), "LaunchTemplateData": known.data,
        }})
    return create_launch_template_version


def bootable(update):
    def update_auto_scaling_group(self, **asked):
        """Only to a version that is there, of an image that is there."""
        template = asked.get("launch_template") or {}
        if "LaunchTemplateId" in template:
            version = self.ec2_backend.get_launch_template(template["LaunchTemplateId"]).get_version(template["Version"])
            if version.image_id not in self.ec2_backend.amis:
                raise ValidationError(f"The image id '[{version.image_id}]' does not exist")
        return update(self, **asked)
    return update_auto_scaling_group


def noting_birth(make):
    def replace_autoscaling_group_instances(self, count, tags):
        make(self, count, tags)
        for state in self.instance_states[-count:]:
            born[state.instance.id] = time.time()
    return replace_autoscaling_group_instances


def shown_reservations(read):
    def reservations(self, *args, **kwargs):
        found = read(self, *args, **kwargs)
        for each in found:
            each.instances = [instance for instance in each.instances if is_shown(instance)]
        return [each for each in found if each.instances]
    return reservations


def shown_by_id(read):
    def reservations(self, instance_ids, *args, **kwargs):
        found = read(self, instance_ids, *args, **kwargs)
        for instance in (instance for each in found for instance in each.instances):
            if not is_shown(instance):
                raise InvalidInstanceIdError(instance.id)
        return found
    return reservations


def shown_members(read):
    return lambda self, *args, **kwargs: [each for each in read(self, *args, **kwargs) if is_shown(each.instance)]


AutoScalingResponse.launch_instances = launch_instances
AutoScalingBackend.terminate_instance = terminate_instance
AutoScalingBackend.update_auto_scaling_group = bootable(AutoScalingBackend.update_auto_scaling_group)
AutoScalingBackend.describe_auto_scaling_instances = shown_members(AutoScalingBackend.describe_auto_scaling_instances)
FakeAutoScalingGroup.instances = property(shown_members(FakeAutoScalingGroup.instances.fget))
FakeAutoScalingGroup.replace_autoscaling_group_instances = noting_birth(
    FakeAutoScalingGroup.replace_autoscaling_group_instances)
InstanceBackend.describe_instances = shown_reservations(InstanceBackend.describe_instances)
InstanceBackend.get_reservations_by_instance_ids = shown_by_id(InstanceBackend.get_reservations_by_instance_ids)
LaunchTemplates.create_launch_template_version = version_like_its_source(LaunchTemplates.create_launch_template_version)
main(sys.argv[1:])
