"""Extracts what AWS and Google publish about the calls of this directory: names, types and limits, without their prose.

    extract.py BOTOCORE GOOGLE     prints the description of aws.json, or of google.json

BOTOCORE is the data directory of botocore 1.44.5, GOOGLE is compute.v1.json of google-api-python-client 2.202.0; "-" skips it.
"""
import gzip
import json
import sys

AWS = {
    "autoscaling/2011-01-01": [
        "DescribeAutoScalingGroups", "DescribeAutoScalingInstances", "UpdateAutoScalingGroup", "DescribeLifecycleHooks",
        "SuspendProcesses", "ResumeProcesses", "LaunchInstances", "TerminateInstanceInAutoScalingGroup",
    ],
    "ec2/2016-11-15": [
        "DescribeInstances", "CreateTags", "DescribeLaunchTemplateVersions", "CreateLaunchTemplateVersion",
        "DeleteLaunchTemplateVersions",
    ],
}
GOOGLE = {
    "instanceGroupManagers": ["aggregatedList", "get", "patch", "listManagedInstances", "listPerInstanceConfigs",
                              "createInstances", "deleteInstances"],
    "regionInstanceGroupManagers": ["get", "patch", "listManagedInstances", "listPerInstanceConfigs", "createInstances",
                                    "deleteInstances"],
    "autoscalers": ["aggregatedList", "get"],
    "regionAutoscalers": ["get"],
    "instanceTemplates": ["get", "list", "insert", "delete"],
    "regionInstanceTemplates": ["get", "list", "insert", "delete"],
    "instances": ["get", "list"],
    "disks": ["list"],
    "globalOperations": ["get"],
    "regionOperations": ["get"],
    "zoneOperations": ["get"],
}
LIMITS = ["type", "enum", "pattern", "min", "max", "flattened"]


def asked_as(api, name, member):
    """The name of a field in a request: the protocol of EC2 begins each with a capital."""
    wire = member.get("queryName") or member.get("locationName")
    if api == "ec2":
        return member.get("queryName") or (wire[0].upper() + wire[1:] if wire else name)
    return wire or name


def aws_shape(api, shape):
    found = {key: shape[key] for key in LIMITS if key in shape}
    # The types of machines change every month.
    if len(found.get("enum", [])) > 100:
        del found["enum"]
    if shape["type"] == "structure":
        found["members"] = {
            name: [member["shape"], asked_as(api, name, member), member.get("locationName") or name]
            for name, member in shape["members"].items()
        }
        found["required"] = shape.get("required", [])
    if shape["type"] == "list":
        found["of"] = shape["member"]["shape"]
        found["item"] = shape["member"].get("locationName") or "member"
    return found


def aws(data):
    apis = {}
    for place, names in AWS.items():
        api = place.split("/")[0]
        with gzip.open(f"{data}/{place}/service-2.json.gz") as file:
            model = json.load(file)
        operations = {name: model["operations"][name] for name in names}
        used = {
            name: {side: found[side]["shape"] for side in ["input", "output"] if side in found}
            for name, found in operations.items()
        }
        shapes, left = {}, [shape for found in used.values() for shape in found.values()]
        while left:
            name = left.pop()
            if name in shapes:
                continue
            shapes[name] = aws_shape(api, model["shapes"][name])
            left += [member[0] for member in shapes[name].get("members", {}).values()]
            left += [shapes[name]["of"]] if "of" in shapes[name] else []
        apis[api] = {"version": model["metadata"]["apiVersion"], "operations": used, "shapes": dict(sorted(shapes.items()))}
    return apis


def is_output(schema):
    return schema.get("readOnly", False) or "[Output Only]" in schema.get("description", "")


def google_field(schema):
    found = {key: schema[key] for key in ["type", "format", "enum", "pattern", "$ref"] if key in schema}
    if is_output(schema):
        found["output"] = True
    if "items" in schema:
        found["items"] = google_field(schema["items"])
    if "additionalProperties" in schema:
        found["values"] = google_field(schema["additionalProperties"])
    if "properties" in schema:
        found["properties"] = {name: google_field(each) for name, each in schema["properties"].items()}
    return found


def refs(value):
    if isinstance(value, list):
        return [each for item in value for each in refs(item)]
    if not isinstance(value, dict):
        return []
    return ([value["$ref"]] if "$ref" in value else []) + [each for item in value.values() for each in refs(item)]


def google(path):
    with open(path) as file:
        model = json.load(file)
    methods = []
    for resource, names in GOOGLE.items():
        for name in names:
            found = model["resources"][resource]["methods"][name]
            query = {
                key: google_field(each)
                for key, each in {**model["parameters"], **found["parameters"]}.items() if each["location"] == "query"
            }
            # A method whose prose recommends this parameter does not list it.
            if "`returnPartialSuccess`" in found["description"]:
                query["returnPartialSuccess"] = {"type": "boolean"}
            methods.append({
                "id": found["id"], "method": found["httpMethod"], "path": found["flatPath"], "query": query,
                **({"request": found["request"]["$ref"]} if "request" in found else {}),
                "response": found["response"]["$ref"],
            })
    schemas, left = {}, [each[side] for each in methods for side in ["request", "response"] if side in each]
    while left:
        name = left.pop()
        if name not in schemas:
            schemas[name] = google_field(model["schemas"][name])["properties"]
            left += refs(schemas[name])
    return {"revision": model["revision"], "base": model["servicePath"], "methods": methods,
            "schemas": dict(sorted(schemas.items()))}


def lines(value, depth):
    """One entry a line down to a depth."""
    if depth == 0 or not isinstance(value, dict):
        return json.dumps(value, separators=(",", ":"))
    return "{\n" + ",\n".join(f"{json.dumps(key)}:{lines(each, depth - 1)}" for key, each in value.items()) + "\n}"


botocore, compute = sys.argv[1:3]
print(lines(aws(botocore), 3) if compute == "-" else lines(google(compute), 2))
